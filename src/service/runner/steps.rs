//! One job, from its lease to its results.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::sync::watch;

use super::{
    Runner,
    outcome::{self, Ended},
    patience::may_pass,
    search::{SearchEnd, SearchOrder},
    workspace::{Workspace, configuration_for_engine},
};
use crate::{
    engine::{Follower, Sight, project::FILE_NAME},
    repo::{CheckoutLimits, FetchLimits, Mirror, Remote, RepoError, Sha},
    report::pull_request::{KernelProgress, Progress},
    search::Stop,
    service::{
        clock::in_millis,
        decide,
        order::{KernelOrder, KernelOutcome, Order, Results, Side, order_of},
    },
    store::{
        StoreError,
        service::{Applied, Change, Job, RunPart},
    },
};

/// Least time between two copies of a journal that has not reached another rung.
const COPY_EVERY: Duration = Duration::from_secs(10);
/// How long a job that hit a passing trouble is kept before somebody else may try.
const BREATH: Duration = Duration::from_secs(5);
/// Largest `kernelbrain.toml`.
const CONFIGURATION_BYTES: u64 = 1 << 20;

/// Why a job does not come to results here.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The job is not this runner's any more.
    Lost,
    /// It may go better another time.
    Passing(String),
    /// It would not go better another time.
    Final(String),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Passing(error.to_string())
    }
}

impl From<crate::engine::EngineError> for Trouble {
    fn from(error: crate::engine::EngineError) -> Self {
        Self::Passing(error.to_string())
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Passing(format!("the workspace: {error}"))
    }
}

/// What the heartbeat takes along.
type Shown = watch::Sender<Option<Value>>;

impl Runner {
    /// Carries a leased job out, as far as its lease lasts.
    pub(super) async fn carry_out(&self, job: Job, mut stop: Stop) {
        let Some(fence) = job.lease.as_ref().map(|lease| lease.fence) else { return };
        let id = job.new.id.clone();
        tracing::info!(job = %id, attempt = job.attempts, "begun");
        let (shown, showing) = watch::channel(None);
        // Whichever ends first ends the others; a child process ends with its future.
        let trouble = tokio::select! {
            result = self.work(&job, fence, &shown) => result.err(),
            () = self.heartbeat(&job, fence, showing) => Some(Trouble::Lost),
            () = stop.wait() => Some(Trouble::Passing("its runner was stopped".to_owned())),
        };
        let workspace = Workspace::of(&self.options.folder, &id);
        match trouble {
            None => workspace.remove(),
            Some(Trouble::Lost) => {
                tracing::info!(job = %id, "not ours any more");
                workspace.remove();
            }
            Some(Trouble::Passing(reason)) => {
                tracing::warn!(job = %id, reason, "given back");
                // To be told to stop is no failure of the job's.
                let at_most = (!stop.requested()).then_some(self.options.attempts);
                if at_most.is_some() {
                    tokio::time::sleep(BREATH).await;
                }
                self.conclude(&job, fence, |job, now| {
                    decide::given_back(job, &reason, at_most, now)
                })
                .await
                .ok();
            }
            Some(Trouble::Final(reason)) => {
                tracing::warn!(job = %id, reason, "failed");
                let told = self.conclude(&job, fence, |job, now| decide::failed(job, &reason, now));
                if told.await.is_ok() {
                    workspace.remove();
                }
            }
        }
    }

    /// Ends when the lease is lost.
    async fn heartbeat(&self, job: &Job, fence: u64, mut showing: watch::Receiver<Option<Value>>) {
        let mut heard = Instant::now();
        loop {
            tokio::time::sleep(self.options.heartbeat).await;
            let now = self.clock.now();
            let until = now + in_millis(self.options.lease);
            let progress = showing.borrow_and_update().clone();
            let beat = self.store.heartbeat(&job.new.id, fence, until, progress.as_ref(), now);
            match beat.await {
                Ok(true) => heard = Instant::now(),
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(job = %job.new.id, %error, "a heartbeat failed");
                    // Somebody else has it by now.
                    if heard.elapsed() > self.options.lease {
                        return;
                    }
                }
            }
        }
    }

    async fn work(&self, job: &Job, fence: u64, shown: &Shown) -> Result<(), Trouble> {
        let order = order_of(job).map_err(|error| Trouble::Final(error.to_string()))?;
        let workspace = Workspace::of(&self.options.folder, &job.new.id);
        let left_out = self.check_out_patiently(job, fence, &workspace).await?;
        self.conclude(job, fence, decide::started).await?;
        let mut results = Results::default();
        let mut progress = Progress { kernels: waiting(&order), ..Progress::default() };
        let mut spent = Duration::ZERO;
        let budget = Duration::from_secs(job.new.budget_seconds);
        for (index, kernel) in order.kernels.iter().enumerate() {
            let left = (order.kernels.len() - index) as u32;
            let share = budget.saturating_sub(spent) / left;
            let task = KernelTask { job, fence, workspace: &workspace, kernel, index, share };
            let mut show = |seen: KernelProgress| {
                if let Some(place) = progress.kernels.get_mut(index) {
                    *place = seen;
                }
                shown.send_replace(serde_json::to_value(&progress).ok());
            };
            let (mut outcome, seconds) = self.search(task, &mut show).await?;
            outcome.notes.extend(left_out.iter().cloned());
            spent += seconds;
            results.kernels.push(outcome);
        }
        let seconds = spent.as_secs();
        self.conclude(job, fence, |job, now| decide::measured(job, &results, seconds, now)).await
    }

    /// The approved commit, and nothing else, in the workspace; what of it was left out.
    pub(super) async fn check_out(
        &self,
        job: &Job,
        fence: u64,
        workspace: &Workspace,
    ) -> Result<Vec<String>, Trouble> {
        let grant = self.grants.grant(job, fence).await;
        let grant = grant.map_err(|error| Trouble::Passing(error.to_string()))?;
        let sha =
            |text: &str| text.parse::<Sha>().map_err(|error| Trouble::Final(error.to_string()));
        let (head, base) = (sha(&job.new.head_sha)?, sha(&job.new.base_sha)?);
        let (options, repository) = (Arc::clone(&self.options), job.new.pull.repository);
        workspace.prepare()?;
        let tree = workspace.tree();
        let abandoned = Abandoned::default();
        let stop = Arc::clone(&abandoned.0);
        let checked_out = tokio::task::spawn_blocking(move || {
            let mirror = Mirror::open(&options.folder.join("mirrors"), repository)?;
            let remote = Remote { url: grant.url, token: Some(grant.token) };
            let limits = FetchLimits { bytes: options.fetch_bytes, ..FetchLimits::default() };
            mirror.fetch(&remote, &[head.clone(), base], limits, &stop)?;
            let limits =
                CheckoutLimits { bytes: options.checkout_bytes, ..CheckoutLimits::default() };
            mirror.check_out(&head, &tree, limits)
        });
        let checked_out = checked_out.await.map_err(|it| Trouble::Passing(it.to_string()))?;
        let checked_out = checked_out.map_err(|error| match may_pass(&error) {
            true => Trouble::Passing(error.to_string()),
            false => Trouble::Final(error.to_string()),
        })?;
        let left_out = checked_out.left_out.iter();
        Ok(left_out.map(|it| format!("{} is not in the checkout: {}", it.path, it.why)).collect())
    }

    /// Searches for one kernel, or goes on where somebody stopped; with the seconds that it took.
    async fn search(
        &self,
        task: KernelTask<'_>,
        show: &mut (dyn FnMut(KernelProgress) + Send),
    ) -> Result<(KernelOutcome, Duration), Trouble> {
        let KernelTask { job, kernel, workspace, index, .. } = task;
        let configuration = match self.configuration(job, kernel).await? {
            Ok(text) => workspace.configure(&text)?,
            Err(failure) => return Ok((outcome::failed(kernel, failure), Duration::ZERO)),
        };
        let database = self.options.folder.join("kernelbrain.db");
        let output = workspace.output(index);
        std::fs::create_dir_all(&output)?;
        let mut follower = Follower::open(&database, &output).await?;
        if let Some(kept) = self.store.copied_run(&job.new.id, &kernel.name).await? {
            let here = workspace.root().to_string_lossy();
            follower.restore(&kept.record, &kept.events, &kept.root, &here).await?;
        }
        let mut sight = follower.look().await?;
        let mut copied = 0;
        let mut end = None;
        if sight.as_ref().is_none_or(|sight| !sight.has_ended()) {
            let search = SearchOrder {
                configuration,
                kernel: kernel.name.clone(),
                output,
                database,
                budget: task.share,
                resume: sight.as_ref().map(|sight| sight.record.id.clone()),
            };
            end = Some(self.follow(task, &search, &mut follower, &mut copied, show).await?);
            sight = follower.look().await?;
        }
        if let Some(sight) = &sight {
            show(sight.progress(&kernel.name));
            self.copy(task, sight, copied).await?;
        }
        let root = workspace.root();
        let ended = Ended { kernel, sight: sight.as_ref(), end: end.as_ref(), root };
        outcome::of(ended, &*self.store).await
    }

    /// Starts the engine and looks on until it ends.
    async fn follow(
        &self,
        task: KernelTask<'_>,
        search: &SearchOrder,
        follower: &mut Follower,
        copied: &mut u64,
        show: &mut (dyn FnMut(KernelProgress) + Send),
    ) -> Result<SearchEnd, Trouble> {
        let mut process = self.options.engine.start(search, task.workspace.root())?;
        let mut last: Option<(Sight, Instant)> = None;
        loop {
            tokio::select! {
                end = process.end() => return Ok(end?),
                () = tokio::time::sleep(self.options.heartbeat) => {}
            }
            // Whoever writes has precedence; the next look comes soon.
            let sight = match follower.look().await {
                Ok(Some(sight)) => sight,
                Ok(None) => continue,
                Err(error) => {
                    tracing::debug!(%error, "cannot look at a run under way");
                    continue;
                }
            };
            show(sight.progress(&task.kernel.name));
            let due = last.as_ref().is_none_or(|(earlier, when)| {
                sight.is_further_than(earlier) || when.elapsed() >= COPY_EVERY
            });
            if due && sight.length() > *copied {
                *copied = self.copy(task, &sight, *copied).await?;
                last = Some((sight, Instant::now()));
            }
        }
    }

    /// Copies what is new of a run into the service's database; how much is there now.
    async fn copy(&self, task: KernelTask<'_>, sight: &Sight, copied: u64) -> Result<u64, Trouble> {
        let KernelTask { job, fence, kernel, workspace, .. } = task;
        let root = workspace.root().to_string_lossy();
        let from = usize::try_from(copied).unwrap_or(usize::MAX).min(sight.events.len());
        let part = RunPart {
            record: &sight.record,
            root: &root,
            after: from as u64,
            events: &sight.events[from..],
        };
        let now = self.clock.now();
        let kept = self.store.copy_run(&job.new.id, fence, &kernel.name, part, now).await?;
        if kept { Ok(sight.length()) } else { Err(Trouble::Lost) }
    }

    /// The configuration of the commit that the order names, or what is wrong with it.
    async fn configuration(
        &self,
        job: &Job,
        kernel: &KernelOrder,
    ) -> Result<Result<String, String>, Trouble> {
        let sha = match kernel.configured_by {
            Side::Base => &job.new.base_sha,
            Side::Head => &job.new.head_sha,
        };
        let sha: Sha = sha.parse().map_err(|it: RepoError| Trouble::Final(it.to_string()))?;
        let (mirrors, repository) = (self.options.folder.join("mirrors"), job.new.pull.repository);
        let read = tokio::task::spawn_blocking(move || {
            Mirror::open(&mirrors, repository)?.read(&sha, FILE_NAME, CONFIGURATION_BYTES)
        });
        let read = read.await.map_err(|error| Trouble::Passing(error.to_string()))?;
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Err(format!("there is no {FILE_NAME} any more"))),
            Err(error) => return Ok(Err(error.to_string())),
        };
        let text = String::from_utf8(bytes).map_err(|_| format!("{FILE_NAME} is not UTF-8"));
        let own = text.and_then(|text| {
            configuration_for_engine(&text).map_err(|error| format!("{FILE_NAME}: {error}"))
        });
        Ok(own)
    }

    /// Applies what `decide` says of the job as it stands now, as long as the lease is ours.
    async fn conclude(
        &self,
        job: &Job,
        fence: u64,
        decide: impl Fn(&Job, i64) -> Change,
    ) -> Result<(), Trouble> {
        loop {
            let Some(job) = self.store.job(&job.new.id).await? else { return Err(Trouble::Lost) };
            let ours = job.lease.as_ref().is_some_and(|lease| lease.fence == fence);
            if !ours || !job.state.is_held() {
                return Err(Trouble::Lost);
            }
            let now = self.clock.now();
            match self.store.apply(&decide(&job, now), now).await? {
                Applied::Kept | Applied::Duplicate => return Ok(()),
                Applied::Conflict => {}
            }
        }
    }
}

/// Ends a fetch that nobody waits for any more.
#[derive(Debug, Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One kernel of a job.
#[derive(Clone, Copy)]
struct KernelTask<'t> {
    job: &'t Job,
    fence: u64,
    workspace: &'t Workspace,
    kernel: &'t KernelOrder,
    index: usize,
    share: Duration,
}

fn waiting(order: &Order) -> Vec<KernelProgress> {
    let waiting =
        |kernel: &KernelOrder| KernelProgress { name: kernel.name.clone(), ..Default::default() };
    order.kernels.iter().map(waiting).collect()
}
