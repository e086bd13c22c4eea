//! Keys: where they come from, and how they stay out of everything that is kept or shown.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// Longest key file; the longest keys in use are tokens of some two kilobytes.
const LONGEST: u64 = 16 * 1024;

/// Keys shorter than this are placeholders for servers that want just any key (`none`, `ollama`),
/// and may be words of an honest answer.
const SHORTEST_SECRET: usize = 8;

/// A key for a model server. Neither its `Debug` form nor anything it writes shows it.
#[derive(Debug)]
pub(super) struct Key {
    secret: SecretString,
    /// The variable or file that it was read from.
    pub(super) from: String,
}

impl Key {
    /// The key in the environment variable, or else in the file, if either is given.
    pub(super) fn find(
        variable: &str,
        environment: &dyn Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> Result<Option<Self>, KeyError> {
        let given = environment(variable).map(SecretString::from);
        if let Some(raw) = given.filter(|raw| !raw.expose_secret().trim().is_empty()) {
            return Self::new(raw, variable.to_owned()).map(Some);
        }
        file.map(|path| Self::new(read_private(path)?, path.display().to_string())).transpose()
    }

    fn new(raw: SecretString, from: String) -> Result<Self, KeyError> {
        let key = raw.expose_secret().trim();
        // What cannot stand in a header line cannot be a key, and a text with spaces or quotes in
        // it is something else that was put in the place of one.
        let sound = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        if key.is_empty() || !key.bytes().all(sound) {
            return Err(KeyError::Malformed { from });
        }
        Ok(Self { secret: SecretString::from(key), from })
    }

    /// The key as a header that is marked as sensitive, after `scheme`.
    pub(super) fn header(&self, scheme: &str) -> Result<HeaderValue, KeyError> {
        let line = SecretString::from(format!("{scheme}{}", self.secret.expose_secret()));
        let mut value = HeaderValue::from_str(line.expose_secret())
            .map_err(|_| KeyError::Malformed { from: self.from.clone() })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// `text` of a server without the key in it, should the server have echoed it.
    pub(super) fn redact(&self, text: &str) -> String {
        let secret = self.secret.expose_secret();
        if secret.len() < SHORTEST_SECRET || !text.contains(secret) {
            return text.to_owned();
        }
        text.replace(secret, "[the key]")
    }
}

/// Reads a file that nobody else can read. The open file is examined and not its name, so that it
/// cannot be exchanged in between.
fn read_private(path: &Path) -> Result<SecretString, KeyError> {
    let fail = |source| KeyError::Unreadable { path: path.to_owned(), source };
    // A pipe in its place would block the opening for ever.
    let kind = std::fs::metadata(path).map_err(fail)?;
    if !kind.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")));
    }
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let owner = metadata.uid();
    let ours = owner == rustix::process::geteuid().as_raw() || owner == 0;
    if metadata.mode() & 0o077 != 0 || !ours {
        let mode = metadata.mode() & 0o777;
        return Err(KeyError::Exposed { path: path.to_owned(), mode, ours });
    }
    // Large enough from the start: a string that grows leaves copies behind.
    let mut text = String::with_capacity(LONGEST as usize + 1);
    file.take(LONGEST).read_to_string(&mut text).map_err(fail)?;
    Ok(SecretString::from(text))
}

/// Why there is no key where one was named.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot read the key file {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "the key file {0} {1}; make it your own and readable to you only: chmod 600 {0}",
        .path.display(),
        exposure(*.mode, *.ours)
    )]
    Exposed { path: PathBuf, mode: u32, ours: bool },
    #[error(
        "what {from} holds is not a key (one word of printable ASCII, nothing else); put the key \
         there as the provider's console shows it"
    )]
    Malformed { from: String },
}

fn exposure(mode: u32, ours: bool) -> String {
    if ours {
        format!("can be read by others (mode {mode:o})")
    } else {
        "belongs to somebody else".into()
    }
}
