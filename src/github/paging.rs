//! Lists that come in pages. Each page says where the next one is.

use http::HeaderMap;

use super::{
    GitHubError, Result, link,
    session::{As, Session},
    transport::{Answer, Request},
};

/// Far beyond any list that is read here: a list that is longer is an error, not cut in silence.
const MAX_PAGES: usize = 100;

/// The items of the list that begins at `url`, until there are no more or those so far are `enough`.
pub(super) async fn collect<T>(
    session: &Session,
    who: As,
    url: String,
    items: impl Fn(&Answer) -> Result<Vec<T>>,
    enough: impl Fn(&[T]) -> bool,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let mut request = Request::get(url);
    for _ in 0..MAX_PAGES {
        let answer = session.call(who, &request).await?;
        all.extend(items(&answer)?);
        let Some(next) = next(session, &answer.headers, &answer.url)? else { return Ok(all) };
        if enough(&all) {
            return Ok(all);
        }
        request.url = next;
    }
    Err(GitHubError::Invalid(format!("a list of more than {MAX_PAGES} pages")))
}

fn next(session: &Session, headers: &HeaderMap, from: &str) -> Result<Option<String>> {
    link::next(headers).map(|target| session.address.resolve(from, target)).transpose()
}
