//! Floor 3: the loop. Decides what is evaluated next, and nothing else: evaluation,
//! generation and the journal come in through the traits of [`ports`].
//!
//! A [`Search`] is a [`Plan`] and a [`State`]; the state is the fold of the run's events
//! ([`Event`] says what each means and how time is accounted for). The loop itself (the paper's
//! algorithm 1) reads the state, decides, keeps the decision as events, applies them, and only
//! then acts: a run that is killed goes on from its events as if nothing had happened.

mod budget;
mod driver;

mod ladder;
mod plan;
pub mod ports;
mod promotion;
mod recorder;
mod requests;
mod scheduler;
mod score;
mod state;
mod stopping;
mod timekeeping;
mod watch;
mod waterfall;

#[cfg(test)]
mod tests;

pub use crate::kernel::{Decision, Event, Outcome, Spend};
pub use budget::{Limit, Limits, RESERVE_AT_MOST, Remaining};
pub use driver::{ResumeError, Search, SearchError, World};
pub use ladder::{CaseSelection, Ladder, LadderError, Rung, Timing};
pub use plan::{Generation, Plan, PlanError, Rewrites};
pub use scheduler::{
    FullEvaluation, Promotion, RankPromotion, RungView, Scheduler, SchedulerChoice,
};
pub use score::{Place, ScoreWeights, latency_us, log_ratio};
pub use state::{Misfit, Record, Standing, State, Tally, Trajectory};
pub use stopping::{StopRules, Stopped, headroom};
pub use watch::{Observer, Stop, StopSwitch};
