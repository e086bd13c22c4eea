//! [`DeliveryStore`] on Postgres.

use std::collections::HashSet;

use async_trait::async_trait;
use sqlx::{query, query_scalar};

use super::{PostgresStore, failure::Patience};
use crate::store::{
    StoreError,
    service::{
        Delivery, DeliveryState, DeliveryStore, Inserted, Millis, Receipt, rows,
        sql::{DELIVERIES_DUE, DELIVERY_STATE, FORGET_DELIVERIES, NO_BODY, POSTPONE_DELIVERY},
        values::words,
    },
};

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn receive(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError> {
        let mut patience = Patience::new();
        loop {
            let received = self.insert(receipts).await;
            let Some(pause) = patience.after(&received) else { return received };
            tokio::time::sleep(pause).await;
        }
    }

    async fn deliveries_due(&self, now: Millis, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
        let found =
            query(DELIVERIES_DUE).bind(now).bind(i64::from(at_most)).fetch_all(&self.pool).await;
        found
            .and_then(|rows| rows.iter().map(rows::delivery).collect())
            .map_err(|error| self.failed(error))
    }

    async fn deliveries_done(&self, ids: &[&str], now: Millis) -> Result<(), StoreError> {
        query(
            "UPDATE deliveries SET state = 'done', ended = $2, error = NULL, body = $3 \
             WHERE id = ANY($1) AND state = 'received'",
        )
        .bind(ids)
        .bind(now)
        .bind(NO_BODY)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(|error| self.failed(error))
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
        query(FORGET_DELIVERIES)
            .bind(before)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected())
            .map_err(|error| self.failed(error))
    }
}

impl PostgresStore {
    /// All of them by two statements, however many they are.
    async fn insert(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError> {
        let ids: Vec<&str> = receipts.iter().map(|it| it.id.as_str()).collect();
        let events: Vec<&str> = receipts.iter().map(|it| it.event.as_str()).collect();
        let bodies: Vec<&[u8]> = receipts.iter().map(|it| it.body.as_slice()).collect();
        let moments: Vec<Millis> = receipts.iter().map(|it| it.received).collect();
        let mut transaction = self.begin().await?;
        let written = async {
            let new: Vec<String> = query_scalar(
                "INSERT INTO deliveries (id, event, body, received, due, state) \
                 SELECT id, event, body, received, received, 'received' \
                 FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[]) \
                 WITH ORDINALITY AS receipts (id, event, body, received, place) ORDER BY place \
                 ON CONFLICT (id) DO NOTHING RETURNING id",
            )
            .bind(&ids)
            .bind(&events)
            .bind(&bodies)
            .bind(&moments)
            .fetch_all(&mut *transaction)
            .await?;
            let again: Vec<String> = query_scalar(
                "UPDATE deliveries SET state = 'received', attempts = 0, due = receipts.received, \
                 error = NULL, ended = NULL \
                 FROM unnest($1::text[], $2::bigint[]) AS receipts (id, received) \
                 WHERE deliveries.id = receipts.id AND deliveries.state = 'failed' \
                 RETURNING deliveries.id",
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
