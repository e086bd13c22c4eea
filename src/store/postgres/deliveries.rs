//! [`DeliveryStore`] on Postgres.

use std::collections::HashSet;

use async_trait::async_trait;
use sqlx::{query, query_scalar};

use super::PostgresStore;
use crate::store::{
    StoreError,
    service::{
        Delivery, DeliveryState, DeliveryStore, Inserted, Millis, Receipt, rows,
        sql::{DELIVERIES_DUE, DELIVERY_STATE, NO_BODY, POSTPONE_DELIVERY},
        values::words,
    },
};

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn receive(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError> {
        self.patiently(|| self.insert(receipts)).await
    }

    async fn deliveries_due(&self, now: Millis, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
        let found =
            query(DELIVERIES_DUE).bind(now).bind(i64::from(at_most)).fetch_all(&self.pool).await;
        found
            .and_then(|rows| rows.iter().map(rows::delivery).collect())
            .map_err(|error| self.failed(error))
    }

    async fn deliveries_done(&self, ids: &[&str], now: Millis) -> Result<(), StoreError> {
        self.patiently(|| async {
            query(
                "WITH handled AS MATERIALIZED (SELECT id FROM deliveries \
                 WHERE id = ANY($1) AND state = 'received' ORDER BY id FOR UPDATE) \
                 UPDATE deliveries SET state = 'done', ended = $2, error = NULL, body = $3 \
                 FROM handled WHERE deliveries.id = handled.id",
            )
            .bind(ids)
            .bind(now)
            .bind(NO_BODY)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(|error| self.failed(error))
        })
        .await
    }

    async fn postpone_delivery(
        &self,
        id: &str,
        due: Option<Millis>,
        error: &str,
    ) -> Result<(), StoreError> {
        query(POSTPONE_DELIVERY)
            .bind(id)
            .bind(due)
            .bind(words(error))
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(|error| self.failed(error))
    }

    async fn delivery_state(&self, id: &str) -> Result<Option<DeliveryState>, StoreError> {
        let found = query(DELIVERY_STATE).bind(id).fetch_optional(&self.pool).await;
        found
            .and_then(|row| row.as_ref().map(rows::delivery_state).transpose())
            .map_err(|error| self.failed(error))
    }

    async fn forget_deliveries(&self, before: Millis) -> Result<u64, StoreError> {
        self.patiently(|| async {
            query(
                "WITH old AS MATERIALIZED (SELECT id FROM deliveries WHERE ended < $1 \
                 ORDER BY id FOR UPDATE) \
                 DELETE FROM deliveries USING old WHERE deliveries.id = old.id",
            )
            .bind(before)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected())
            .map_err(|error| self.failed(error))
        })
        .await
    }
}

impl PostgresStore {
    /// All of them by two statements, however many they are. Numbered as they came, written in the order
    /// of their ids: several services may be told the same ones in any order.
    async fn insert(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError> {
        let ids: Vec<&str> = receipts.iter().map(|it| it.id.as_str()).collect();
        let events: Vec<&str> = receipts.iter().map(|it| it.event.as_str()).collect();
        let bodies: Vec<&[u8]> = receipts.iter().map(|it| it.body.as_slice()).collect();
        let moments: Vec<Millis> = receipts.iter().map(|it| it.received).collect();
        let mut transaction = self.begin().await?;
        let written = async {
            let new: Vec<String> = query_scalar(
                "INSERT INTO deliveries (number, id, event, body, received, due, state) \
                 OVERRIDING SYSTEM VALUE \
                 SELECT number, id, event, body, received, received, 'received' FROM \
                 (SELECT nextval(pg_get_serial_sequence('deliveries', 'number')) AS number, * \
                 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[]) \
                 WITH ORDINALITY AS receipts (id, event, body, received, place)) AS numbered \
                 ORDER BY id, place ON CONFLICT (id) DO NOTHING RETURNING id",
            )
            .bind(&ids)
            .bind(&events)
            .bind(&bodies)
            .bind(&moments)
            .fetch_all(&mut *transaction)
            .await?;
            let again: Vec<String> = query_scalar(
                "WITH failed AS MATERIALIZED (SELECT id FROM deliveries \
                 WHERE id = ANY($1) AND state = 'failed' ORDER BY id FOR UPDATE) \
                 UPDATE deliveries SET state = 'received', attempts = 0, due = receipts.received, \
                 error = NULL, ended = NULL \
                 FROM failed JOIN unnest($1::text[], $2::bigint[]) AS receipts (id, received) \
                 USING (id) WHERE deliveries.id = failed.id RETURNING deliveries.id",
            )
            .bind(&ids)
            .bind(&moments)
            .fetch_all(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(answers(receipts, new, again))
        };
        written.await.map_err(|error| self.failed(error))
    }
}

/// The first of several with one id is the one that counted.
fn answers(receipts: &[Receipt], new: Vec<String>, again: Vec<String>) -> Vec<Inserted> {
    let (mut new, mut again): (HashSet<_>, HashSet<_>) =
        (new.into_iter().collect(), again.into_iter().collect());
    let answer = |receipt: &Receipt| match () {
        () if new.remove(&receipt.id) => Inserted::New,
        () if again.remove(&receipt.id) => Inserted::Again,
        () => Inserted::Known,
    };
    receipts.iter().map(answer).collect()
}
