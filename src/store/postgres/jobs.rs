//! [`JobStore`] on Postgres: changes and questions. Leases are the neighbour's.

use std::collections::HashMap;

use async_trait::async_trait;
use serde_json::Value;
use sqlx::{Postgres, Row, Transaction, query, query_as};

use super::{PostgresStore, effects::keep_effects};
use crate::store::{
    StoreError,
    service::{
        Applied, Change, Job, JobId, JobState, JobStore, Millis, NewJob, PullKey, Spent, SpentOn,
        Transition, rows,
        sql::{
            COUNT_JOBS, DELIVERY_DONE, JOB, JOBS_OF, NO_BODY, QUEUE, SPENT_ON_INSTALLATION,
            SPENT_ON_PULL, SPENT_ON_USER, STEP, select_jobs,
        },
        values::{may_step, optional_json, signed, words},
    },
};

#[async_trait]
impl JobStore for PostgresStore {
    async fn apply(&self, change: &Change, now: Millis) -> Result<Applied, StoreError> {
        let applied = self.patiently(|| self.keep(change, now)).await?;
        if applied == Applied::Duplicate {
            let handled = Change {
                delivery: change.delivery.clone(),
                done: change.done.clone(),
                ..Change::default()
            };
            self.patiently(|| self.keep(&handled, now)).await?;
        }
        Ok(applied)
    }

    async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError> {
        let found = query(JOB).bind(&id.0).fetch_optional(&self.pool).await;
        found
            .and_then(|row| row.as_ref().map(rows::job).transpose())
            .map_err(|error| self.failed(error))
    }

    async fn jobs_of(&self, pull: PullKey) -> Result<Vec<Job>, StoreError> {
        let found = query(JOBS_OF)
            .bind(signed(pull.installation))
            .bind(signed(pull.repository))
            .bind(signed(pull.number))
            .fetch_all(&self.pool)
            .await;
        found
            .and_then(|rows| rows.iter().map(rows::job).collect())
            .map_err(|error| self.failed(error))
    }

    async fn jobs_in(&self, states: &[JobState], at_most: u32) -> Result<Vec<Job>, StoreError> {
        let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
        let found = query(select_jobs!("WHERE state = ANY($1) ORDER BY number LIMIT $2"))
            .bind(names)
            .bind(i64::from(at_most))
            .fetch_all(&self.pool)
            .await;
        found
            .and_then(|rows| rows.iter().map(rows::job).collect())
            .map_err(|error| self.failed(error))
    }

    async fn lease(
        &self,
        runner: &str,
        labels: &[String],
        now: Millis,
        until: Millis,
    ) -> Result<Option<Job>, StoreError> {
        self.lease_oldest(runner, labels, now, until).await
    }

    async fn heartbeat(
        &self,
        id: &JobId,
        fence: u64,
        until: Millis,
        progress: Option<&Value>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        self.prolong(id, fence, until, progress, now).await
    }

    async fn lost_leases(&self, now: Millis) -> Result<Vec<Job>, StoreError> {
        self.leases_before(now).await
    }

    async fn spent(&self, on: &SpentOn, since: Millis) -> Result<Spent, StoreError> {
        let asked = match on {
            SpentOn::Pull(pull) => query(SPENT_ON_PULL)
                .bind(since)
                .bind(signed(pull.installation))
                .bind(signed(pull.repository))
                .bind(signed(pull.number)),
            SpentOn::User { installation, login } => {
                query(SPENT_ON_USER).bind(since).bind(signed(*installation)).bind(login)
            }
            SpentOn::Installation(installation) => {
                query(SPENT_ON_INSTALLATION).bind(since).bind(signed(*installation))
            }
        };
        let found = asked.fetch_one(&self.pool).await;
        found.and_then(|row| rows::spent(&row)).map_err(|error| self.failed(error))
    }

    async fn count_jobs(&self) -> Result<Vec<(JobState, u64)>, StoreError> {
        let counted: Result<Vec<(String, i64)>, _> =
            query_as(COUNT_JOBS).fetch_all(&self.pool).await;
        let counted = counted.map_err(|error| self.failed(error))?;
        let named = counted
            .into_iter()
            .filter_map(|(state, count)| Some((JobState::of_name(&state)?, count.unsigned_abs())));
        Ok(named.collect())
    }

    async fn lead(
        &self,
        name: &str,
        owner: &str,
        now: Millis,
        until: Millis,
    ) -> Result<bool, StoreError> {
        self.take_lead(name, owner, now, until).await
    }
}

impl PostgresStore {
    /// All of a change in one transaction, or nothing of it.
    async fn keep(&self, change: &Change, now: Millis) -> Result<Applied, StoreError> {
        let mut transaction = self.begin().await?;
        for job in &change.new_jobs {
            let queued = queue(&mut transaction, job, now).await;
            if !queued.map_err(|error| self.failed(error))? {
                return Ok(Applied::Duplicate);
            }
        }
        let standing = standings(&mut transaction, &change.transitions).await;
        let mut standing = standing.map_err(|error| self.failed(error))?;
        for step in &change.transitions {
            if !may_step(standing.get(&step.job.0).copied(), step)? {
                return Ok(Applied::Conflict);
            }
            take_step(&mut transaction, step, now).await.map_err(|error| self.failed(error))?;
            standing.insert(step.job.0.clone(), (step.to, step.version + 1));
        }
        let written = async {
            if let Some(id) = &change.delivery {
                query(DELIVERY_DONE)
                    .bind(id)
                    .bind(now)
                    .bind(NO_BODY)
                    .execute(&mut *transaction)
                    .await?;
            }
            keep_effects(&mut transaction, change).await?;
            transaction.commit().await
        };
        written.await.map(|()| Applied::Kept).map_err(|error| self.failed(error))
    }
}

/// `false` where its origin is taken.
async fn queue(
    transaction: &mut Transaction<'_, Postgres>,
    job: &NewJob,
    now: Millis,
) -> Result<bool, sqlx::Error> {
    query(QUEUE)
        .bind(&job.id.0)
        .bind(signed(job.pull.installation))
        .bind(signed(job.pull.repository))
        .bind(signed(job.pull.number))
        .bind(&job.repository)
        .bind(&job.head_sha)
        .bind(&job.base_sha)
        .bind(&job.requested_by)
        .bind(&job.origin)
        .bind(&job.gpu)
        .bind(signed(job.budget_seconds))
        .bind(job.order.to_string())
        .bind(now)
        .execute(&mut **transaction)
        .await
        .map(|done| done.rows_affected() > 0)
}

/// Where the jobs of `steps` stand, and stay until the transaction is over. They are locked in the
/// order of their ids, so that two changes of the same jobs do not each wait for the other.
async fn standings(
    transaction: &mut Transaction<'_, Postgres>,
    steps: &[Transition],
) -> Result<HashMap<String, (JobState, u64)>, sqlx::Error> {
    let ids: Vec<&str> = steps.iter().map(|step| step.job.0.as_str()).collect();
    let found =
        query("SELECT id, state, version FROM jobs WHERE id = ANY($1) ORDER BY id FOR UPDATE")
            .bind(ids)
            .fetch_all(&mut **transaction)
            .await?;
    found.iter().map(|row| Ok((row.try_get("id")?, rows::standing(row)?))).collect()
}

async fn take_step(
    transaction: &mut Transaction<'_, Postgres>,
    step: &Transition,
    now: Millis,
) -> Result<(), sqlx::Error> {
    query(STEP)
        .bind(&step.job.0)
        .bind(signed(step.version))
        .bind(step.to.name())
        .bind(optional_json(step.progress.as_ref()))
        .bind(optional_json(step.result.as_ref()))
        .bind(step.reason.as_deref().map(words))
        .bind(step.spent_seconds.map(signed))
        .bind(now)
        .execute(&mut **transaction)
        .await
        .map(drop)
}
