//! Folders of a runner: mirrors and its database are kept, a job's workspace goes with the job.
//!
//! ```text
//! folder/mirrors/<repository>.git    folder/kernelbrain.db
//! folder/jobs/<job>/tree             the checkout
//! folder/jobs/<job>/out-<n>          results of the n-th kernel
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{engine::project::FILE_NAME, store::service::JobId};

/// Workspaces that nobody has touched for this long are of jobs that another runner finished.
const FORGOTTEN: Duration = Duration::from_secs(3 * 24 * 3600);

/// A job's folders on this host.
#[derive(Clone, Debug)]
pub(super) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    pub(super) fn of(folder: &Path, job: &JobId) -> Self {
        Self { root: jobs(folder).join(&job.0) }
    }

    /// The folder below which everything of the job lies.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    pub(super) fn output(&self, kernel: usize) -> PathBuf {
        self.root.join(format!("out-{kernel}"))
    }

    /// An empty folder for the checkout; results of an earlier attempt stay.
    pub(super) fn prepare(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.tree()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(self.tree())
    }

    /// Puts the configuration in place that kernels are read from.
    pub(super) fn configure(&self, configuration: &str) -> io::Result<PathBuf> {
        let path = self.tree().join(FILE_NAME);
        // Whatever the checkout has there, a link too, is replaced and not followed.
        let fresh = self.tree().join(format!(".{FILE_NAME}.new"));
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::write(&fresh, configuration)?;
        fs::rename(&fresh, &path)?;
        Ok(path)
    }

    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.root)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %self.root.display(), %error, "a workspace stays behind");
        }
    }
}

fn jobs(folder: &Path) -> PathBuf {
    folder.join("jobs")
}

/// Removes what jobs left behind that ended elsewhere.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(jobs(folder)) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_some_and(|age| age > FORGOTTEN) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// A configuration for the engine: kernels and ladder of the repository. Which models are asked, and what
/// is run to ask them, is not the repository's to say.
pub(super) fn configuration_for_engine(text: &str) -> Result<String, toml::de::Error> {
    let mut table: toml::Table = toml::from_str(text)?;
    table.remove("model");
    Ok(table.to_string())
}
