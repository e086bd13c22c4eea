//! Twenty pull requests: what people do, and what must have come of it.

use kernelbrain::store::service::JobState;

use crate::{
    bot::{CONFIGURATION, CONTRACT, KERNEL},
    mock::{GitHub, Permission, PullRequest, Repo},
};

pub(crate) const LABEL: &str = "optimize-kernel";
pub(crate) const SOURCE: &str = "ops/softmax.py";

/// What happens to a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Suggested,
    SuggestedByCommand,
    /// What gets faster lies outside of the diff.
    Branch,
    NothingGained,
    NothingGainedByCommand,
    Failing,
    FailingByCommand,
    PushInTheMiddle,
    CancelInTheMiddle,
    ForkSuggested,
    ForkPatched,
}

const TWENTY: [Kind; 20] = [
    Kind::Suggested,
    Kind::PushInTheMiddle,
    Kind::Branch,
    Kind::NothingGained,
    Kind::ForkSuggested,
    Kind::CancelInTheMiddle,
    Kind::SuggestedByCommand,
    Kind::Failing,
    Kind::Suggested,
    Kind::Branch,
    Kind::NothingGainedByCommand,
    Kind::Suggested,
    Kind::PushInTheMiddle,
    Kind::ForkPatched,
    Kind::Suggested,
    Kind::FailingByCommand,
    Kind::NothingGained,
    Kind::SuggestedByCommand,
    Kind::Branch,
    Kind::Suggested,
];

/// One pull request and how far its people are.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) kind: Kind,
    pub(crate) pull: PullRequest,
    step: u32,
    /// The head that was pushed over, where one was.
    pub(crate) old_head: Option<String>,
    /// Comments of people to the bot, with the reaction that they must have.
    pub(crate) commands: Vec<(u64, &'static str)>,
}

/// A kernel of which this much is not the same everywhere.
#[derive(Clone, Copy)]
struct Text {
    title: &'static str,
    block: u32,
    takes: &'static str,
    fails: bool,
}

const BASE: Text = Text { title: "Softmax", block: 64, takes: "40ms", fails: false };
/// Long enough that people can act before it ends.
const SLOW: &str = "3s";

impl Text {
    fn written(self) -> String {
        let Self { title, block, takes, .. } = self;
        let fails = if self.fails { "# fails: the contract cannot be read\n" } else { "" };
        let far: String = (1..=30).map(|line| format!("# {line}\n")).collect();
        let kernel = KERNEL.replace("BLOCK = 128", &format!("BLOCK = {block}"));
        format!("# {title}\n{far}# takes: {takes}\n{fails}{kernel}")
    }
}

impl Kind {
    fn text(self) -> Text {
        let faster = Text { block: 128, ..BASE };
        match self {
            Self::Branch | Self::ForkPatched => Text { title: "A better title", ..BASE },
            Self::NothingGained | Self::NothingGainedByCommand => Text { block: 256, ..BASE },
            Self::Failing | Self::FailingByCommand => Text { fails: true, ..faster },
            Self::PushInTheMiddle | Self::CancelInTheMiddle => Text { takes: SLOW, ..faster },
            _ => faster,
        }
    }

    fn is_of_a_fork(self) -> bool {
        matches!(self, Self::ForkSuggested | Self::ForkPatched)
    }

    /// How the job of the head ends.
    pub(crate) fn job(self) -> JobState {
        match self {
            Self::CancelInTheMiddle => JobState::Cancelled,
            _ => JobState::Reported,
        }
    }

    /// How the head's check run ends.
    pub(crate) fn conclusion(self) -> &'static str {
        match self {
            Self::NothingGained | Self::NothingGainedByCommand => "neutral",
            Self::Failing | Self::FailingByCommand => "failure",
            Self::CancelInTheMiddle => "cancelled",
            _ => "success",
        }
    }

    /// Result comments of the head.
    pub(crate) fn comments(self) -> usize {
        let none = [Self::NothingGained, Self::Failing, Self::CancelInTheMiddle];
        usize::from(!none.contains(&self))
    }

    /// Reviews with suggestions.
    pub(crate) fn reviews(self) -> usize {
        let some =
            [Self::Suggested, Self::SuggestedByCommand, Self::PushInTheMiddle, Self::ForkSuggested];
        usize::from(some.contains(&self))
    }
}

/// The kernel's file as it is after the search of what stands in it.
pub(crate) fn verified(source: &str) -> String {
    let now = source.lines().find(|line| line.trim().starts_with("BLOCK = ")).unwrap();
    source.replace(now, "    BLOCK = 256")
}

impl Story {
    /// Twenty of them, in five repositories of three accounts; nothing was asked for yet.
    pub(crate) fn twenty(github: &GitHub) -> Vec<Self> {
        let names =
            ["acme/kernels", "globex/norms", "acme/attention", "initech/ops", "globex/gemm"];
        let repositories = names.map(|name| repository(github, name));
        let numbered = TWENTY.into_iter().enumerate();
        numbered.map(|(at, kind)| Self::open(github, kind, at, &repositories[at % 5])).collect()
    }

    fn open(github: &GitHub, kind: Kind, at: usize, repository: &Repo) -> Self {
        let branch = format!("change-{at}");
        let text = kind.text().written();
        let from = match kind.is_of_a_fork() {
            true => github.fork(repository, &format!("stranger-{at}")),
            false => repository.clone(),
        };
        from.commit(&branch, &[(SOURCE, &text)]);
        let pull = repository.open_pull_from(&from, "mona", &branch);
        Self { kind, pull, step: 0, old_head: None, commands: Vec::new() }
    }

    /// People do what is theirs to do now, if anything; whether they are through.
    pub(crate) fn advance(&mut self) -> bool {
        let pull = self.pull.clone();
        match (self.kind, self.step) {
            (
                Kind::Suggested
                | Kind::Branch
                | Kind::NothingGained
                | Kind::Failing
                | Kind::PushInTheMiddle
                | Kind::CancelInTheMiddle,
                0,
            ) => pull.label(LABEL, "mona"),
            (
                Kind::SuggestedByCommand | Kind::NothingGainedByCommand | Kind::FailingByCommand,
                0,
            ) => self.command("/kernelbrain optimize", "eyes"),
            (Kind::ForkSuggested | Kind::ForkPatched, 0) => {
                let line = format!("/kernelbrain optimize {}", pull.head_sha());
                self.command(&line, "eyes");
            }
            (Kind::PushInTheMiddle, 1) if self.is_under_way() => {
                self.old_head = Some(pull.head_sha());
                let text = Text { block: 32, ..BASE }.written();
                pull.push("mona", &[(SOURCE, &text)]);
            }
            (Kind::PushInTheMiddle, 2) if pull.now().labels.is_empty() => {
                pull.label(LABEL, "mona");
            }
            (Kind::CancelInTheMiddle, 1) if self.is_under_way() => {
                self.command("/kernelbrain cancel", "rocket");
            }
            (Kind::PushInTheMiddle, 1 | 2) | (Kind::CancelInTheMiddle, 1) => return false,
            _ => return true,
        }
        self.step += 1;
        false
    }

    fn command(&mut self, line: &str, reaction: &'static str) {
        let comment = self.pull.comment("mona", line);
        self.commands.push((comment, reaction));
    }

    /// The check run says that a runner is at it.
    fn is_under_way(&self) -> bool {
        let head = self.pull.head_sha();
        let runs = self.pull.repository.github.check_runs();
        runs.iter().any(|run| run.head_sha == head && run.status == "in_progress")
    }
}

fn repository(github: &GitHub, name: &str) -> Repo {
    let repository = github.repository(name);
    repository.set_permission("mona", Permission::Write);
    let source = BASE.written();
    let files = [
        ("kernelbrain.toml", CONFIGURATION),
        (SOURCE, &source),
        ("contracts/softmax.py", CONTRACT),
    ];
    repository.commit("main", &files);
    repository
}
