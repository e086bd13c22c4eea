//! The `Link` header (RFC 8288): where the next page is. Page numbers are never built by hand.

use http::{HeaderMap, header};

/// The target of `rel="next"`.
pub(super) fn next(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::LINK)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(links)
        .find(|(_, parameters)| is_next(parameters))
        .map(|(target, _)| target)
}

/// Pairs of a target and its parameters. A target may hold commas, so they are cut at `<` and `>`.
fn links(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split('<').skip(1).filter_map(|link| link.split_once('>'))
}

fn is_next(parameters: &str) -> bool {
    parameters.split([';', ',']).any(|parameter| {
        parameter.trim().split_once('=').is_some_and(|(name, value)| {
            let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
            name.trim().eq_ignore_ascii_case("rel")
                && relations.any(|relation| relation.eq_ignore_ascii_case("next"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::LINK, value.parse().unwrap());
        next(&headers).map(str::to_owned)
    }

    #[test]
    fn only_the_next_page_is_next() {
        let first = r#"<https://h/a?page=2>; rel="next", <https://h/a?page=9>; rel="last""#;
        assert_eq!(next_of(first).as_deref(), Some("https://h/a?page=2"));
        let last = r#"<https://h/a?page=1>; rel="first", <https://h/a?page=8>; rel="prev""#;
        assert_eq!(next_of(last), None);
        let commas = r#"<https://h/a?names=x,y;z>;rel=next"#;
        assert_eq!(next_of(commas).as_deref(), Some("https://h/a?names=x,y;z"));
    }
}
