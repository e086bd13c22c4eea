//! Commits by their SHA from a remote repository, over HTTPS.
//!
//! libgit2 is built without a transport of its own: here is one request of git's protocol over the
//! client that everything else uses, so that certificates are checked against the system's roots,
//! the token is in a header and nowhere else, and size, time and cancelling are ours to decide. The
//! pack goes through libgit2's indexer, which computes every object's name from its bytes: what is
//! found under a SHA is what was approved under it, whatever the remote is.
//!
//! A fetch can be killed at any point. Its pack is put together in a folder beside the others and
//! moved once it is whole; a commit counts as here once all its files have been seen.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::Indexer;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use secrecy::{ExposeSecret, SecretString};

use super::wire::{Part, Reader, request};
use super::{Mirror, RepoError, Sha};

/// Where to fetch from.
#[derive(Debug, Clone)]
pub struct Remote {
    /// `https://HOST/OWNER/NAME.git`, without user or password.
    pub url: String,
    /// An installation's token with `contents: read`. Kept in memory; sent to that host only.
    pub token: Option<SecretString>,
}

/// What one fetch may take.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// Bytes received, compressed as they travel.
    pub bytes: u64,
    /// From the first wait for the mirror's lock to the last file checked.
    pub time: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, time: Duration::from_secs(600) }
    }
}

/// Commits named as already here in one request: enough to spare what files have in common.
const MOST_HAVES: usize = 32;
/// Renamed repositories answer with one redirection; some servers add a second.
const MOST_REDIRECTS: usize = 3;
/// How soon a cancelled fetch notices.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Folder of a pack that is not whole yet, under the lock.
const INCOMING: &str = "incoming";

impl Mirror {
    /// Makes sure that every wanted commit is here whole, fetching those that are not, each without
    /// its history. Ends early once `stop` is true.
    ///
    /// Starts a runtime of its own for the network, so it must not be called from async code.
    pub fn fetch(
        &self,
        remote: &Remote,
        wanted: &[Sha],
        limits: FetchLimits,
        stop: &AtomicBool,
    ) -> Result<(), RepoError> {
        let source = Source::new(remote)?;
        let _lock = self.lock(limits.time, stop)?;
        let mut missing = Vec::new();
        for sha in wanted {
            if !self.has(sha)? && !missing.contains(&sha) {
                missing.push(sha);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let kept = self.kept()?;
        let recent = &kept[kept.len().saturating_sub(MOST_HAVES)..];
        self.receive(&source, &request(&missing, recent), limits, stop)?;
        if !recent.is_empty() && !self.all_complete(&missing)? {
            // The remote relied on something that is not here after all.
            self.receive(&source, &request(&missing, &[]), limits, stop)?;
        }
        for sha in &missing {
            if !self.complete(sha)? {
                return Err(RepoError::Incomplete((*sha).clone()));
            }
        }
        self.keep(&missing.into_iter().cloned().collect::<Vec<_>>())
    }

    fn all_complete(&self, wanted: &[&Sha]) -> Result<bool, RepoError> {
        for sha in wanted {
            if !self.complete(sha)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn receive(
        &self,
        source: &Source,
        body: &[u8],
        limits: FetchLimits,
        stop: &AtomicBool,
    ) -> Result<(), RepoError> {
        let incoming = self.folder().join(INCOMING);
        // Of a fetch that was killed.
        if incoming.exists() {
            fs::remove_dir_all(&incoming).map_err(RepoError::at(&incoming))?;
        }
        fs::create_dir(&incoming).map_err(RepoError::at(&incoming))?;
        let git = self.git()?;
        let odb = git.odb()?;
        let received = within(limits.time, stop, async {
            // What the pack leaves out, because it is here already, comes from here.
            let indexer = Indexer::new(Some(&odb), &incoming, 0, false)?;
            source.stream(body, limits.bytes, indexer).await
        });
        let moved = received.and_then(|name| self.take_in(&incoming, &name));
        fs::remove_dir_all(&incoming).map_err(RepoError::at(&incoming))?;
        moved
    }

    /// Moves a whole pack to the others; its index last, since that is what makes it one of them.
    fn take_in(&self, incoming: &Path, name: &str) -> Result<(), RepoError> {
        let packs = self.folder().join("objects/pack");
        for kind in ["pack", "idx"] {
            let file = format!("pack-{name}.{kind}");
            let (from, to) = (incoming.join(&file), packs.join(&file));
            File::open(&from).and_then(|file| file.sync_all()).map_err(RepoError::at(&from))?;
            fs::rename(&from, &to).map_err(RepoError::at(&to))?;
        }
        Ok(())
    }
}

/// Runs to the end, until the time is over, or until somebody wants it to stop.
fn within<T>(
    time: Duration,
    stop: &AtomicBool,
    work: impl Future<Output = Result<T, RepoError>>,
) -> Result<T, RepoError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RepoError::at(Path::new("a runtime for the network")))?;
    let stopped = async {
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    runtime.block_on(async {
        tokio::select! {
            done = work => done,
            () = tokio::time::sleep(time) => Err(RepoError::TimedOut(time)),
            () = stopped => Err(RepoError::Stopped),
        }
    })
}

/// A remote, checked, with a client that talks to it and to nobody else.
struct Source {
    client: Client,
    url: Url,
    host: String,
    authorization: Option<HeaderValue>,
}

impl Source {
    fn new(remote: &Remote) -> Result<Self, RepoError> {
        // What is no address is not repeated: it may be one with a password in it.
        let bad = |shown: &str| RepoError::Address(shown.to_owned());
        let url = Url::parse(&remote.url).map_err(|_| bad("(not a URL)"))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let plain = matches!(host.as_str(), "127.0.0.1" | "localhost" | "[::1]");
        let scheme = url.scheme() == "https" || (url.scheme() == "http" && plain);
        let bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !scheme || host.is_empty() || !bare {
            return Err(bad(&format!("{}://{host}{}", url.scheme(), url.path())));
        }
        let mut client = Client::builder()
            .user_agent(concat!("git/kernelbrain-", env!("CARGO_PKG_VERSION")))
            // Followed by hand, and to the same host only.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(15));
        if plain {
            client = client.no_proxy();
            if url.scheme() == "http" {
                // No certificate is needed, so none is missed on a machine that has none.
                client = client.tls_certs_only([]);
            }
        }
        let client = client.build().map_err(|error| unreachable(&host, error))?;
        let authorization = remote.token.as_ref().map(authorization).transpose()?;
        Ok(Self { client, url, host, authorization })
    }

    /// Sends the request and feeds the pack of the answer to the indexer; the pack's name.
    async fn stream(
        &self,
        body: &[u8],
        most: u64,
        mut indexer: Indexer<'_>,
    ) -> Result<String, RepoError> {
        let mut answer = self.post(body).await?;
        let mut reader = Reader::default();
        let mut bytes = 0;
        while let Some(chunk) =
            answer.chunk().await.map_err(|error| unreachable(&self.host, error))?
        {
            bytes += chunk.len() as u64;
            if bytes > most {
                return Err(RepoError::PackTooLarge { limit: most });
            }
            reader
                .read(&chunk, |part| match part {
                    Part::Pack(data) => {
                        indexer.write_all(data).map_err(|error| Broken::Here(error.to_string()))
                    }
                    Part::Failed(why) => Err(Broken::There(why)),
                    Part::Other => Ok(()),
                })
                .map_err(|broken| self.broken(broken))?;
        }
        if !reader.ended() {
            let why = "the connection ended in the middle of the pack".to_owned();
            return Err(RepoError::Unreachable { host: self.host.clone(), why });
        }
        Ok(indexer.commit()?)
    }

    fn broken(&self, broken: Broken) -> RepoError {
        match broken {
            Broken::There(why) => RepoError::Remote(why),
            Broken::Here(why) => {
                let (host, why) = (self.host.clone(), super::error::printable(&why));
                RepoError::Protocol { host, why }
            }
        }
    }

    async fn post(&self, body: &[u8]) -> Result<Response, RepoError> {
        let mut url = self.url.clone();
        let path = format!("{}/git-upload-pack", url.path().trim_end_matches('/'));
        url.set_path(&path);
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self
                .client
                .post(url.clone())
                .header(CONTENT_TYPE, "application/x-git-upload-pack-request")
                .header(ACCEPT, "application/x-git-upload-pack-result")
                .header("git-protocol", "version=2")
                .body(body.to_vec());
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization.clone());
            }
            let answer = request.send().await.map_err(|error| unreachable(&self.host, error))?;
            let (host, status) = (self.host.clone(), answer.status().as_u16());
            match status {
                200 => return Ok(answer),
                301 | 302 | 307 | 308 => url = self.redirected(&url, &answer)?,
                401 => return Err(RepoError::Unauthorised { host }),
                403 | 404 => return Err(RepoError::Forbidden { host, status }),
                _ => return Err(RepoError::Status { host, status }),
            }
        }
        let why = "it redirects again and again".to_owned();
        Err(RepoError::Protocol { host: self.host.clone(), why })
    }

    /// The next address, if it is on the same host, port and scheme.
    fn redirected(&self, from: &Url, answer: &Response) -> Result<Url, RepoError> {
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| from.join(location).ok());
        let Some(to) = to else {
            let why = "it redirects to nowhere".to_owned();
            return Err(RepoError::Protocol { host: self.host.clone(), why });
        };
        if to.origin() != from.origin() {
            let to = to.origin().ascii_serialization();
            return Err(RepoError::Redirected { from: self.host.clone(), to });
        }
        Ok(to)
    }
}

/// What stopped the reading of an answer.
enum Broken {
    Here(String),
    There(String),
}

impl From<String> for Broken {
    fn from(why: String) -> Self {
        Self::Here(why)
    }
}

/// Basic authentication, as GitHub takes an installation's token from git.
fn authorization(token: &SecretString) -> Result<HeaderValue, RepoError> {
    let pair = STANDARD.encode(format!("x-access-token:{}", token.expose_secret()));
    let mut value = HeaderValue::from_str(&format!("Basic {pair}"))
        .map_err(|_| RepoError::Address("(a token that is no header)".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The innermost reason alone: the others repeat the address.
fn unreachable(host: &str, error: reqwest::Error) -> RepoError {
    let error = error.without_url();
    let mut inner: &dyn std::error::Error = &error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let why = super::error::printable(&inner.to_string());
    RepoError::Unreachable { host: host.to_owned(), why }
}
