//! [`ExchangeStore`] on SQLite.

use async_trait::async_trait;
use sqlx::{Row, query, sqlite::SqliteRow};

use super::{SqliteStore, rows::decode};
use crate::{
    kernel::CandidateId,
    store::{ExchangeKey, ExchangeStore, KeptExchange, StoreError},
};

#[async_trait]
impl ExchangeStore for SqliteStore {
    async fn keep_exchange(&self, run: &str, exchange: &KeptExchange) -> Result<(), StoreError> {
        let KeptExchange { key, body } = exchange;
        query(
            "INSERT INTO exchanges (run, parent, rung, kind, body) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (run, parent, rung, kind) DO UPDATE SET body = excluded.body",
        )
        .bind(run)
        .bind(key.parent.as_str())
        .bind(rung_number(key.rung))
        .bind(serde_json::to_string(&key.kind).unwrap_or_default())
        .bind(body.to_string())
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(|error| self.failed(error))
    }

    async fn exchanges(&self, run: &str) -> Result<Vec<KeptExchange>, StoreError> {
        let rows =
            query("SELECT parent, rung, kind, body FROM exchanges WHERE run = ? ORDER BY seq")
                .bind(run)
                .fetch_all(&self.pool)
                .await
                .map_err(|error| self.failed(error))?;
        let read = rows.iter().map(exchange).collect::<Result<_, _>>();
        read.map_err(|error| self.failed(error))
    }
}

fn rung_number(rung: Option<usize>) -> i64 {
    rung.and_then(|rung| i64::try_from(rung).ok()).unwrap_or(-1)
}

fn exchange(row: &SqliteRow) -> Result<KeptExchange, sqlx::Error> {
    let json = |column: &str| {
        let text: &str = row.try_get(column)?;
        serde_json::from_str(text).map_err(|error| decode(column, error))
    };
    let parent: serde_json::Value = row.try_get::<String, _>("parent")?.into();
    let parent: CandidateId =
        serde_json::from_value(parent).map_err(|error| decode("parent", error))?;
    let kind = serde_json::from_value(json("kind")?).map_err(|error| decode("kind", error))?;
    let rung = usize::try_from(row.try_get::<i64, _>("rung")?).ok();
    Ok(KeptExchange { key: ExchangeKey { parent, rung, kind }, body: json("body")? })
}
