//! [`DeliveryStore`] on SQLite.

use async_trait::async_trait;
use serde_json::Value;
use sqlx::{Sqlite, Transaction, query, sqlite::SqliteRow};

use super::{SqliteStore, packed};
use crate::store::{
    StoreError,
    service::{
        Delivery, DeliveryState, DeliveryStore, Inserted, Millis, Receipt, rows,
        sql::{DELIVERIES_DUE, DELIVERY_STATE, NO_BODY, POSTPONE_DELIVERY},
        values::words,
    },
};

#[async_trait]
impl DeliveryStore for SqliteStore {
    async fn receive(&self, receipts: &[Receipt]) -> Result<Vec<Inserted>, StoreError> {
        let bodies: Vec<_> = receipts.iter().map(|receipt| packed::pack(&receipt.body)).collect();
        let (_turn, mut transaction) = self.writing().await?;
        let written = async {
            let mut answers = Vec::with_capacity(receipts.len());
            for (receipt, body) in receipts.iter().zip(bodies) {
                answers.push(insert(&mut transaction, receipt, body).await?);
            }
            transaction.commit().await?;
            Ok(answers)
        };
        written.await.map_err(|error| self.failed(error))
    }

    async fn deliveries_due(&self, now: Millis, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
        let found = query(DELIVERIES_DUE).bind(now).bind(at_most).fetch_all(&self.pool).await;
        found
            .and_then(|rows| rows.iter().map(delivery).collect())
            .map_err(|error| self.failed(error))
    }

    async fn deliveries_done(&self, ids: &[&str], now: Millis) -> Result<(), StoreError> {
        let ids: Value = ids.iter().copied().collect();
        let _turn = self.turn.lock().await;
        query(
            "UPDATE deliveries SET state = 'done', ended = $2, error = NULL, body = $3 \
             WHERE id IN (SELECT value FROM json_each($1)) AND state = 'received'",
        )
        .bind(ids.to_string())
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
        let _turn = self.turn.lock().await;
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
        let _turn = self.turn.lock().await;
        query("DELETE FROM deliveries WHERE ended < $1")
            .bind(before)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected())
            .map_err(|error| self.failed(error))
    }
}

fn delivery(row: &SqliteRow) -> Result<Delivery, sqlx::Error> {
    let mut delivery = rows::delivery(row)?;
    delivery.receipt.body = packed::unpack(delivery.receipt.body);
    Ok(delivery)
}

async fn insert(
    transaction: &mut Transaction<'_, Sqlite>,
    receipt: &Receipt,
    body: Vec<u8>,
) -> Result<Inserted, sqlx::Error> {
    let new = query(
        "INSERT INTO deliveries (id, event, body, received, due, state) \
         VALUES ($1, $2, $3, $4, $4, 'received') ON CONFLICT (id) DO NOTHING",
    )
    .bind(&receipt.id)
    .bind(&receipt.event)
    .bind(body)
    .bind(receipt.received)
    .execute(&mut **transaction)
    .await?;
    if new.rows_affected() > 0 {
        return Ok(Inserted::New);
    }
    let again = query(
        "UPDATE deliveries SET state = 'received', attempts = 0, due = $2, error = NULL, \
         ended = NULL WHERE id = $1 AND state = 'failed'",
    )
    .bind(&receipt.id)
    .bind(receipt.received)
    .execute(&mut **transaction)
    .await?;
    Ok(if again.rows_affected() > 0 { Inserted::Again } else { Inserted::Known })
}
