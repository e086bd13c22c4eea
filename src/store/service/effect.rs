//! Effects: what is owed to GitHub, as rows that a dispatcher works off.

use async_trait::async_trait;
use serde_json::Value;

use super::Millis;
use crate::store::StoreError;

/// An effect that a decision asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEffect {
    /// What makes it the same effect, for example `comment:<job>`. Asking for the same again gives it a
    /// new body and revision where it `replaces`, and is nothing otherwise.
    pub key: String,
    pub installation: u64,
    /// 0 comes before 1 and so on; within one, the oldest first.
    pub priority: u8,
    pub replaces: bool,
    /// Not before this moment.
    pub due: Millis,
    /// What to do (JSON).
    pub body: Value,
}

/// How far an effect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectState {
    Owed,
    Done,
    /// Not wanted any more.
    Dropped,
    /// Given up.
    Failed,
}

/// An effect as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// In the order in which they were asked for.
    pub number: u64,
    pub new: NewEffect,
    /// Increases with every new body.
    pub revision: u64,
    pub state: EffectState,
    /// Attempts that failed since the body is what it is.
    pub attempts: u32,
    /// What an earlier revision made at GitHub.
    pub remote: Option<String>,
    pub error: Option<String>,
}

/// Keeps effects. They are added and completed by [`super::JobStore::apply`].
#[async_trait]
pub trait EffectStore: Send + Sync {
    /// What is owed to `installation` and due at `now`, most urgent first.
    async fn effects_due(
        &self,
        installation: u64,
        now: Millis,
        at_most: u32,
    ) -> Result<Vec<Effect>, StoreError>;

    /// Installations to which something is owed, due at `now`.
    async fn installations_owed(&self, now: Millis) -> Result<Vec<u64>, StoreError>;

    async fn effect(&self, key: &str) -> Result<Option<Effect>, StoreError>;

    /// It could not be performed now: due again at `due`, or [`EffectState::Failed`] where that is
    /// `None`. Nothing happens where the revision is not the newest.
    async fn postpone_effect(
        &self,
        key: &str,
        revision: u64,
        due: Option<Millis>,
        error: &str,
    ) -> Result<(), StoreError>;

    /// How many are owed, due or not.
    async fn owed(&self) -> Result<u64, StoreError>;
}
