//! [`JournalStore`] on Postgres.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{Postgres, Transaction, query, query_scalar};

use super::PostgresStore;
use crate::store::{
    StoreError,
    event::{EventRow, content_hash},
    service::{
        JobId, JournalStore, KeptRun, Millis, RunPart, rows,
        sql::{EVENTS, FORGET_EVENTS, KEEP_RUN, KEEP_TEXT, KEPT_EVENTS, KEPT_RECORD, TEXT},
        values::{Continuation, Rows, continuation, signed},
    },
};

#[async_trait]
impl JournalStore for PostgresStore {
    async fn copy_run(
        &self,
        job: &JobId,
        fence: u64,
        kernel: &str,
        part: RunPart<'_>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = Rows::of(&part)?;
        self.patiently(|| self.copy((job, fence, kernel), &part, &rows, now)).await
    }

    async fn copied_run(&self, job: &JobId, kernel: &str) -> Result<Option<KeptRun>, StoreError> {
        // One transaction: the record and the journal are of the same moment.
        let begun = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").await;
        let mut transaction = begun.map_err(|error| self.failed(error))?;
        let read = async {
            let record = query(KEPT_RECORD).bind(&job.0).bind(kernel);
            let Some(record) = record.fetch_optional(&mut *transaction).await? else {
                return Ok(None);
            };
            let events = query(EVENTS).bind(&job.0).bind(kernel);
            let events = events.fetch_all(&mut *transaction).await?;
            rows::kept_run(&record, &events).map(Some)
        };
        read.await.map_err(|error| self.failed(error))
    }

    async fn keep_text(&self, text: &str) -> Result<String, StoreError> {
        let hash = content_hash(text);
        query(KEEP_TEXT)
            .bind(&hash)
            .bind(text.as_bytes())
            .execute(&self.pool)
            .await
            .map(|_| hash)
            .map_err(|error| self.failed(error))
    }

    async fn text(&self, hash: &str) -> Result<Option<String>, StoreError> {
        let found = query_scalar(TEXT).bind(hash).fetch_optional(&self.pool).await;
        found.and_then(rows::text).map_err(|error| self.failed(error))
    }
}

impl PostgresStore {
    async fn copy(
        &self,
        (job, fence, kernel): (&JobId, u64, &str),
        part: &RunPart<'_>,
        rows: &Rows,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        let kept = async {
            if !holds(&mut transaction, job, fence).await? {
                return Ok(None);
            }
            let row = query(KEPT_RECORD).bind(&job.0).bind(kernel);
            let row = row.fetch_optional(&mut *transaction).await?;
            let record = row.as_ref().map(rows::record).transpose()?;
            let events: i64 = query_scalar(KEPT_EVENTS)
                .bind(&job.0)
                .bind(kernel)
                .fetch_one(&mut *transaction)
                .await?;
            Ok(Some((record, events)))
        };
        let Some((record, events)) = kept.await.map_err(|error| self.failed(error))? else {
            return Ok(false);
        };
        let continuation = continuation(record.as_ref(), events, part)?;
        let written = async {
            query(KEEP_RUN)
                .bind(&job.0)
                .bind(kernel)
                .bind(&rows.record)
                .bind(part.root)
                .bind(now)
                .execute(&mut *transaction)
                .await?;
            let doubled = match continuation {
                Continuation::After(doubled) => doubled,
                Continuation::Anew => {
                    let forget = query(FORGET_EVENTS).bind(&job.0).bind(kernel);
                    forget.execute(&mut *transaction).await?;
                    0
                }
            };
            let last = signed(part.after) + 1;
            let new: Vec<_> = (last..).zip(&rows.events).skip(doubled).collect();
            write_events(&mut transaction, job, kernel, &new).await?;
            transaction.commit().await
        };
        written.await.map(|()| true).map_err(|error| self.failed(error))
    }
}

/// Whether the lease with `fence` is the job's current one, and stays so until the transaction is over.
async fn holds(
    transaction: &mut Transaction<'_, Postgres>,
    job: &JobId,
    fence: u64,
) -> Result<bool, sqlx::Error> {
    query(
        "SELECT 1 FROM jobs WHERE id = $1 AND fence = $2 AND state IN ('leased', 'running') \
         FOR UPDATE",
    )
    .bind(&job.0)
    .bind(signed(fence))
    .fetch_optional(&mut **transaction)
    .await
    .map(|row| row.is_some())
}

/// All of them by two statements, however many they are.
async fn write_events(
    transaction: &mut Transaction<'_, Postgres>,
    job: &JobId,
    kernel: &str,
    events: &[(i64, &EventRow)],
) -> Result<(), sqlx::Error> {
    let sources = || events.iter().map(|(_, row)| row.source.as_ref());
    let texts: BTreeMap<&str, &[u8]> =
        sources().flatten().map(|(hash, text)| (hash.as_str(), text.as_bytes())).collect();
    // In the same order in every transaction, so that two do not wait for one another.
    query(
        "INSERT INTO sources (source, text) SELECT source, text \
         FROM unnest($1::text[], $2::bytea[]) AS texts (source, text) ORDER BY source \
         ON CONFLICT DO NOTHING",
    )
    .bind(texts.keys().copied().collect::<Vec<_>>())
    .bind(texts.values().copied().collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await?;
    query(
        "INSERT INTO job_events (job, kernel, seq, kind, body, source) \
         SELECT $1, $2, seq, kind, body, source \
         FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[]) \
         AS events (seq, kind, body, source)",
    )
    .bind(&job.0)
    .bind(kernel)
    .bind(events.iter().map(|(seq, _)| *seq).collect::<Vec<_>>())
    .bind(events.iter().map(|(_, row)| row.kind.as_str()).collect::<Vec<_>>())
    .bind(events.iter().map(|(_, row)| row.body.as_str()).collect::<Vec<_>>())
    .bind(sources().map(|source| Some(source?.0.as_str())).collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await
    .map(drop)
}
