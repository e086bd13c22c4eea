//! What the service keeps: deliveries of GitHub, jobs, effects that are owed to GitHub, and the
//! journals of the runs that jobs make.
//!
//! Everything that a decision changes is one [`Change`], kept all or none: the delivery that was
//! handled, the jobs' new states, the effects that follow. A process may die between any two calls.

mod change;
mod delivery;
mod effect;
mod job;
mod journal;
pub(in crate::store) mod rows;
pub(in crate::store) mod sql;
pub(in crate::store) mod values;

pub use change::{Applied, Change, EffectDone, Transition};
pub use delivery::{Delivery, DeliveryState, DeliveryStore, Inserted, Receipt};
pub use effect::{Effect, EffectState, EffectStore, NewEffect};
pub use job::{Job, JobId, JobState, JobStore, Lease, NewJob, PullKey, Spent, SpentOn};
pub use journal::{JournalStore, KeptRun, RunPart};

use async_trait::async_trait;

/// Milliseconds since 1970, as the service's clock gave them.
pub type Millis = i64;

/// One database of a service.
#[async_trait]
pub trait ServiceStore: DeliveryStore + JobStore + EffectStore + JournalStore {
    /// Lets go of the database after what is under way; nothing can be asked of it afterwards.
    async fn close(&self);
}
