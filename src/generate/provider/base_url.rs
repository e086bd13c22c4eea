//! Base URLs that users give: what may stand in one, and to where a key may travel in plain text.

use reqwest::Url;

use super::setup::SetupError;

/// Reads the base URL of a model server.
pub(super) fn parse(text: &str) -> Result<Url, SetupError> {
    let fail = |reason: &str| SetupError::BaseUrl { reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| fail(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(fail("it has to begin with https:// (or http://) and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fail(
            "it must not contain a name or password; put the key into KERNELBRAIN_MODEL_KEY",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fail("it must not contain `?` or `#`"));
    }
    Ok(url)
}

/// Refuses `http://` to another machine, where everyone on the way can read source and key.
pub(super) fn check_plain_http(url: &Url, allowed: bool) -> Result<(), SetupError> {
    if url.scheme() == "https" || allowed || is_loopback(url) {
        return Ok(());
    }
    Err(SetupError::PlainHttp { url: url.to_string() })
}

/// Whether the URL names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `url` with `path` behind its own.
pub(super) fn join(url: &Url, path: &str) -> Url {
    let mut joined = url.clone();
    joined.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_stays_on_this_machine() {
        let check = |text: &str| check_plain_http(&parse(text).unwrap(), false);
        for near in ["http://localhost:11434/v1", "http://127.0.0.1", "http://[::1]:8000/v1"] {
            check(near).unwrap();
        }
        for far in ["http://10.0.0.3/v1", "http://localhost.example.com", "http://gpu-box:8000"] {
            let error = check(far).unwrap_err().to_string();
            assert!(error.contains("https://"), "{error}");
        }
        check("https://gpu-box:8000").unwrap();
        check_plain_http(&parse("http://gpu-box").unwrap(), true).unwrap();
    }

    #[test]
    fn a_base_url_holds_no_secret() {
        for wrong in
            ["https://me:secret@host/v1", "https://host/v1?key=secret", "ftp://host", "host"]
        {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert_eq!(join(&parse("https://host/v1/").unwrap(), "messages").path(), "/v1/messages");
        assert_eq!(join(&parse("https://host").unwrap(), "v1/messages").path(), "/v1/messages");
    }
}
