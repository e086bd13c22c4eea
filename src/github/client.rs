//! The App at GitHub.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::Method;
use secrecy::SecretString;
use tokio::sync::OnceCell;

use super::{
    AppCredentials, AppInfo, HookDelivery, Quota, Repository, Result, WallClock,
    address::Address,
    app::Signer,
    hook_deliveries,
    pace::Pace,
    patience::Patience,
    quota::Quotas,
    session::{As, Session},
    token::{Access, Scope, Tokens},
    transport::{Request, Transport},
};

/// The App at one GitHub. Cheap to clone; clones share tokens and connections.
#[derive(Clone)]
pub struct GitHub {
    session: Arc<Session>,
    app: Arc<OnceCell<AppInfo>>,
    git_base: Arc<str>,
    pushes: bool,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub")
            .field("address", &self.session.address)
            .field("signer", &self.session.signer)
            .finish_non_exhaustive()
    }
}

impl GitHub {
    /// `api` is `https://api.github.com`, or `https://HOST/api/v3` for Enterprise Server. Must be
    /// called within a Tokio runtime.
    ///
    /// # Errors
    /// [`super::GitHubError::Setup`] where the address or the key cannot be used.
    pub fn new(api: &str, credentials: AppCredentials, wall: Arc<dyn WallClock>) -> Result<Self> {
        let address = Address::new(api)?;
        let git_base = address.git().into();
        let session = Session {
            transport: Transport::new(&address)?,
            address,
            signer: Signer::new(&credentials)?,
            tokens: Tokens::default(),
            quotas: Quotas::default(),
            patience: Patience::default(),
            pace: Pace::default(),
            clock: wall,
        };
        Ok(Self { session: Arc::new(session), app: Arc::default(), git_base, pushes: true })
    }

    /// Leaves so much time between two writes to an installation; none unless told.
    #[must_use]
    pub fn with_write_interval(self, interval: Duration) -> Self {
        self.session.pace.set(interval);
        self
    }

    /// Clones repositories from somewhere else than the address of the API suggests.
    #[must_use]
    pub fn with_git_base(mut self, base: &str) -> Self {
        self.git_base = base.trim_end_matches('/').into();
        self
    }

    /// Asks for no permission to push: for Apps whose `contents` permission is `read`. Branches and
    /// commits are then refused with [`super::GitHubError::Forbidden`].
    #[must_use]
    pub fn without_pushing(mut self) -> Self {
        self.pushes = false;
        self
    }

    /// Where repositories are cloned from: `https://github.com`, without a slash at the end.
    #[must_use]
    pub fn git_base(&self) -> &str {
        &self.git_base
    }

    #[must_use]
    pub fn app_id(&self) -> u64 {
        self.session.signer.app_id()
    }

    /// One repository, spoken to with tokens that are good for nothing else. `full_name` is
    /// `owner/name`; a wrong one is reported by the first call.
    #[must_use]
    pub fn repository(&self, installation: u64, repository_id: u64, full_name: &str) -> Repository {
        let access = if self.pushes { Access::Push } else { Access::Speak };
        let scope = Scope { installation, repository: repository_id, access };
        let app_id = self.app_id();
        Repository::new(Arc::clone(&self.session), scope, full_name, app_id)
    }

    /// A new token that reads the files of one repository and nothing else, for an hour.
    pub async fn read_token(&self, installation: u64, repository_id: u64) -> Result<SecretString> {
        let scope = Scope { installation, repository: repository_id, access: Access::Read };
        Ok(self.session.mint(scope).await?.secret)
    }

    /// What GitHub knows of the App; [`AppInfo::login`] is who we are in comments. GitHub is asked
    /// once.
    pub async fn app(&self) -> Result<AppInfo> {
        let ask = || async {
            let request = Request::get(self.session.address.rest("/app"));
            self.session.call(As::App, &request).await?.json()
        };
        self.app.get_or_try_init(ask).await.cloned()
    }

    /// Webhook deliveries since `since` that never arrived, not even when they were sent again: the
    /// newest attempt of each, oldest first.
    pub async fn failed_deliveries(&self, since: SystemTime) -> Result<Vec<HookDelivery>> {
        hook_deliveries::failed(&self.session, since).await
    }

    /// Asks GitHub to send a delivery again.
    pub async fn redeliver(&self, id: u64) -> Result<()> {
        let path = format!("/app/hook/deliveries/{id}/attempts");
        let request = Request::new(Method::POST, self.session.address.rest(&path), None);
        self.session.call(As::App, &request).await.map(drop)
    }

    /// What is left of an installation's requests, as its last answer said.
    #[must_use]
    pub fn quota(&self, installation: u64) -> Option<Quota> {
        self.session.quotas.of(installation)
    }
}
