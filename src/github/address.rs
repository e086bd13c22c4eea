//! Where GitHub is: the REST API, GraphQL beside it, and the repositories to clone.

use std::net::IpAddr;

use http::Uri;

use super::{GitHubError, Result};

/// The addresses of one GitHub.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// `https://api.github.com`: scheme, host and port.
    origin: String,
    /// Empty, or `/api/v3` on Enterprise Server.
    prefix: String,
    graphql: String,
    git: String,
}

impl Address {
    /// `api` is `https://api.github.com`, `https://HOST/api/v3` (Enterprise Server) or
    /// `https://api.NAME.ghe.com` (data residency).
    pub(super) fn new(api: &str) -> Result<Self> {
        let wrong = |why: &str| {
            GitHubError::Setup(format!(
                "{api} is no address of GitHub's API: {why}; it looks like https://api.github.com \
                 or https://HOST/api/v3"
            ))
        };
        let uri: Uri = api.parse().map_err(|_| wrong("it cannot be read"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong("it has no host"));
        };
        if authority.as_str().contains('@') {
            return Err(GitHubError::Setup(
                "the address of GitHub's API must not hold a user or a password".to_owned(),
            ));
        }
        if uri.query().is_some() {
            return Err(wrong("it has a query"));
        }
        match scheme {
            "https" => {}
            "http" if is_this_machine(authority.host()) => {}
            _ => return Err(wrong("tokens travel over https only")),
        }
        let origin = format!("{scheme}://{authority}");
        let prefix = uri.path().trim_end_matches('/').to_owned();
        let graphql = match prefix.strip_suffix("/v3") {
            Some(before) => format!("{origin}{before}/graphql"),
            None => format!("{origin}{prefix}/graphql"),
        };
        let host = authority.as_str();
        let git = format!("{scheme}://{}", host.strip_prefix("api.").unwrap_or(host));
        Ok(Self { origin, prefix, graphql, git })
    }

    /// The absolute address of a path such as `/repos/o/r`.
    pub(super) fn rest(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin, self.prefix)
    }

    pub(super) fn graphql(&self) -> &str {
        &self.graphql
    }

    pub(super) fn git(&self) -> &str {
        &self.git
    }

    /// Plain HTTP goes nowhere else.
    pub(super) fn is_on_this_machine(&self) -> bool {
        self.origin.starts_with("http:")
    }

    /// Where GitHub points to from `from`, if that is still this GitHub: a token goes nowhere else.
    pub(super) fn resolve(&self, from: &str, target: &str) -> Result<String> {
        let elsewhere = || GitHubError::Invalid(format!("it points away from {}", self.origin));
        if target.starts_with('/') && !target.starts_with("//") {
            return Ok(format!("{}{target}", self.origin));
        }
        if let Some(query) = target.strip_prefix('?') {
            let path = from.split('?').next().unwrap_or(from);
            return Ok(format!("{path}?{query}"));
        }
        let uri: Uri = target.parse().map_err(|_| elsewhere())?;
        match (uri.scheme_str(), uri.authority()) {
            (Some(scheme), Some(authority))
                if format!("{scheme}://{authority}").eq_ignore_ascii_case(&self.origin) =>
            {
                Ok(target.to_owned())
            }
            _ => Err(elsewhere()),
        }
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_github_has_its_addresses() {
        for (api, pull, graphql, git) in [
            (
                "https://api.github.com",
                "https://api.github.com/x",
                "https://api.github.com/graphql",
                "https://github.com",
            ),
            (
                "https://git.example.org/api/v3/",
                "https://git.example.org/api/v3/x",
                "https://git.example.org/api/graphql",
                "https://git.example.org",
            ),
            (
                "https://api.us.ghe.com/",
                "https://api.us.ghe.com/x",
                "https://api.us.ghe.com/graphql",
                "https://us.ghe.com",
            ),
            (
                "http://127.0.0.1:80",
                "http://127.0.0.1:80/x",
                "http://127.0.0.1:80/graphql",
                "http://127.0.0.1:80",
            ),
        ] {
            let address = Address::new(api).unwrap();
            assert_eq!(address.rest("/x"), pull);
            assert_eq!(address.graphql(), graphql);
            assert_eq!(address.git(), git);
        }
    }

    #[test]
    fn an_address_that_would_leak_a_token_is_refused() {
        for api in
            ["http://git.example.org/api/v3", "ftp://h", "api.github.com", "https://u:p@h", ""]
        {
            assert!(matches!(Address::new(api), Err(GitHubError::Setup(_))), "{api}");
        }
        let refusal = Address::new("https://u:hunter2@h").unwrap_err();
        assert!(!refusal.to_string().contains("hunter2"));
    }

    #[test]
    fn pointers_stay_at_home() {
        let address = Address::new("https://api.github.com").unwrap();
        let from = "https://api.github.com/a?page=1";
        let stays = |target| address.resolve(from, target).ok();
        assert_eq!(stays("/b?c").as_deref(), Some("https://api.github.com/b?c"));
        assert_eq!(stays("?page=2").as_deref(), Some("https://api.github.com/a?page=2"));
        assert_eq!(stays("https://api.github.com/b").as_deref(), Some("https://api.github.com/b"));
        for away in [
            "https://evil.example/b",
            "http://api.github.com/b",
            "//evil.example/b",
            "https://api.github.com@evil.example/b",
            "https://api.github.com.evil.example/b",
            "b",
        ] {
            assert!(stays(away).is_none(), "{away}");
        }
    }
}
