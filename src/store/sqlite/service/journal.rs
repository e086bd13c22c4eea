//! [`JournalStore`] on SQLite.

use async_trait::async_trait;
use sqlx::{Sqlite, Transaction, query, query_scalar};

use super::SqliteStore;
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
impl JournalStore for SqliteStore {
    async fn copy_run(
        &self,
        job: &JobId,
        fence: u64,
        kernel: &str,
        part: RunPart<'_>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = Rows::of(&part)?;
        let (_turn, mut transaction) = self.writing().await?;
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
        let continuation = continuation(record.as_ref(), events, &part)?;
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
            let numbered = (signed(part.after) + 1..).zip(&rows.events).skip(doubled);
            for (seq, row) in numbered {
                write_event(&mut transaction, (&job.0, kernel, seq), row).await?;
            }
            transaction.commit().await
        };
        written.await.map(|()| true).map_err(|error| self.failed(error))
    }

    async fn copied_run(&self, job: &JobId, kernel: &str) -> Result<Option<KeptRun>, StoreError> {
        // One transaction: the record and the journal are of the same moment.
        let mut transaction = self.pool.begin().await.map_err(|error| self.failed(error))?;
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
        let _turn = self.turn.lock().await;
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

/// Whether the lease with `fence` is the job's current one.
async fn holds(
    transaction: &mut Transaction<'_, Sqlite>,
    job: &JobId,
    fence: u64,
) -> Result<bool, sqlx::Error> {
    query("SELECT 1 FROM jobs WHERE id = $1 AND fence = $2 AND state IN ('leased', 'running')")
        .bind(&job.0)
        .bind(signed(fence))
        .fetch_optional(&mut **transaction)
        .await
        .map(|row| row.is_some())
}

async fn write_event(
    transaction: &mut Transaction<'_, Sqlite>,
    (job, kernel, seq): (&str, &str, i64),
    row: &EventRow,
) -> Result<(), sqlx::Error> {
    if let Some((hash, text)) = &row.source {
        query(KEEP_TEXT).bind(hash).bind(text.as_bytes()).execute(&mut **transaction).await?;
    }
    query(
        "INSERT INTO job_events (job, kernel, seq, kind, body, source) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(job)
    .bind(kernel)
    .bind(seq)
    .bind(&row.kind)
    .bind(&row.body)
    .bind(row.source.as_ref().map(|(hash, _)| hash))
    .execute(&mut **transaction)
    .await
    .map(drop)
}
