//! [`EffectStore`] on Postgres, and the effects of a change.

use async_trait::async_trait;
use sqlx::{Postgres, Transaction, query, query_scalar};

use super::PostgresStore;
use crate::store::{
    StoreError,
    service::{
        Change, Effect, EffectStore, Millis, rows,
        sql::{
            DROP_EFFECT, EFFECT, EFFECT_DONE, EFFECTS_DUE, INSTALLATIONS_OWED, OWE, OWED,
            POSTPONE_EFFECT,
        },
        values::{signed, words},
    },
};

#[async_trait]
impl EffectStore for PostgresStore {
    async fn effects_due(
        &self,
        installation: u64,
        now: Millis,
        at_most: u32,
    ) -> Result<Vec<Effect>, StoreError> {
        let found = query(EFFECTS_DUE)
            .bind(signed(installation))
            .bind(now)
            .bind(i64::from(at_most))
            .fetch_all(&self.pool)
            .await;
        found
            .and_then(|rows| rows.iter().map(rows::effect).collect())
            .map_err(|error| self.failed(error))
    }

    async fn installations_owed(&self, now: Millis) -> Result<Vec<u64>, StoreError> {
        let found: Vec<i64> = query_scalar(INSTALLATIONS_OWED)
            .bind(now)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(found.into_iter().map(i64::unsigned_abs).collect())
    }

    async fn effect(&self, key: &str) -> Result<Option<Effect>, StoreError> {
        let found = query(EFFECT).bind(key).fetch_optional(&self.pool).await;
        found
            .and_then(|row| row.as_ref().map(rows::effect).transpose())
            .map_err(|error| self.failed(error))
    }

    async fn postpone_effect(
        &self,
        key: &str,
        revision: u64,
        due: Option<Millis>,
        error: &str,
    ) -> Result<(), StoreError> {
        query(POSTPONE_EFFECT)
            .bind(key)
            .bind(signed(revision))
            .bind(due)
            .bind(words(error))
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(|error| self.failed(error))
    }

    async fn owed(&self) -> Result<u64, StoreError> {
        let owed: Result<i64, _> = query_scalar(OWED).fetch_one(&self.pool).await;
        owed.map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }
}

/// What was done comes before what is dropped, and that before what is owed anew.
pub(super) async fn keep_effects(
    transaction: &mut Transaction<'_, Postgres>,
    change: &Change,
) -> Result<(), sqlx::Error> {
    lock(transaction, change).await?;
    if let Some(done) = &change.done {
        query(EFFECT_DONE)
            .bind(&done.key)
            .bind(signed(done.revision))
            .bind(&done.remote)
            .execute(&mut **transaction)
            .await?;
    }
    for key in &change.dropped_effects {
        query(DROP_EFFECT).bind(key).execute(&mut **transaction).await?;
    }
    for effect in &change.effects {
        query(OWE)
            .bind(&effect.key)
            .bind(signed(effect.installation))
            .bind(i64::from(effect.priority))
            .bind(effect.replaces)
            .bind(effect.due)
            .bind(effect.body.to_string())
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

/// In the order of their keys, so that two changes of the same effects do not each wait for the other.
async fn lock(
    transaction: &mut Transaction<'_, Postgres>,
    change: &Change,
) -> Result<(), sqlx::Error> {
    let done = change.done.iter().map(|done| &done.key);
    let owed = change.effects.iter().map(|effect| &effect.key);
    let keys: Vec<&str> =
        done.chain(&change.dropped_effects).chain(owed).map(String::as_str).collect();
    if keys.len() > 1 {
        query("SELECT 1 FROM effects WHERE key = ANY($1) ORDER BY key FOR UPDATE")
            .bind(keys)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}
