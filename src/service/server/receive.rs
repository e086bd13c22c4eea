//! `POST /webhook`: verify, keep, 202. Everything else happens later.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use tokio::sync::{Notify, mpsc, oneshot};

use super::state::ServiceState;
use crate::{
    github::signature,
    store::service::{DeliveryStore, Inserted, Receipt, ServiceStore},
};

/// Deliveries that may wait to be kept; beyond that GitHub is told to come again.
const WAITING: usize = 4096;
/// Deliveries that are kept in one transaction.
const BATCH: usize = 256;

/// Keeps deliveries in batches: one flush to the disk for as many as came meanwhile.
#[derive(Clone, Debug)]
pub struct Receiver(mpsc::Sender<Waiting>);

type Waiting = (Receipt, oneshot::Sender<Option<Inserted>>);

/// Starts the one writer of deliveries; it ends when nobody can hand in any more.
pub fn spawn_receiver(store: Arc<dyn ServiceStore>, arrivals: Arc<Notify>) -> Receiver {
    let (sender, mut waiting) = mpsc::channel::<Waiting>(WAITING);
    tokio::spawn(async move {
        let mut batch = Vec::with_capacity(BATCH);
        while waiting.recv_many(&mut batch, BATCH).await > 0 {
            keep(&*store, std::mem::take(&mut batch)).await;
            // Remembered where nobody listens at the moment.
            arrivals.notify_one();
        }
    });
    Receiver(sender)
}

async fn keep(store: &dyn ServiceStore, batch: Vec<Waiting>) {
    let (receipts, waiting): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    match DeliveryStore::receive(store, &receipts).await {
        Ok(inserted) => {
            for (answer, inserted) in waiting.into_iter().zip(inserted) {
                // Whoever waited may have been cut off.
                answer.send(Some(inserted)).ok();
            }
        }
        Err(error) => {
            tracing::error!(%error, deliveries = receipts.len(), "deliveries could not be kept");
            for answer in waiting {
                answer.send(None).ok();
            }
        }
    }
}

pub(super) async fn webhook(
    State(state): State<Arc<ServiceState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = receive(&state, &headers, body).await;
    let status = answer.map_or_else(|refused| refused.0, |_| StatusCode::ACCEPTED);
    metrics::counter!("kernelbrain_deliveries_total", "status" => status.as_str().to_owned())
        .increment(1);
    match answer {
        Ok(text) => (StatusCode::ACCEPTED, text).into_response(),
        Err((status, text)) => (status, text).into_response(),
    }
}

async fn receive(
    state: &ServiceState,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<&'static str, (StatusCode, &'static str)> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    signature::verify(&state.secrets, &body, text("x-hub-signature-256")).map_err(|error| {
        tracing::warn!(%error, "a delivery was refused");
        (StatusCode::UNAUTHORIZED, "the signature does not match\n")
    })?;
    let id = text("x-github-delivery").filter(|id| is_an_id(id));
    let id = id.ok_or((StatusCode::BAD_REQUEST, "no X-GitHub-Delivery\n"))?;
    let event = text("x-github-event").filter(|event| is_an_id(event));
    let event = event.ok_or((StatusCode::BAD_REQUEST, "no X-GitHub-Event\n"))?;
    let receipt = Receipt {
        id: id.to_owned(),
        event: event.to_owned(),
        // No copy, unless the connection holds it still.
        body: body.into(),
        received: state.clock.now(),
    };
    let (answer, kept) = oneshot::channel();
    let busy = (StatusCode::SERVICE_UNAVAILABLE, "too many deliveries at once\n");
    state.receiver.0.try_send((receipt, answer)).map_err(|_| busy)?;
    match kept.await {
        Ok(Some(Inserted::New)) => Ok("kept\n"),
        Ok(Some(Inserted::Known)) => Ok("known\n"),
        Ok(Some(Inserted::Again)) => Ok("kept again\n"),
        Ok(None) | Err(_) => {
            Err((StatusCode::SERVICE_UNAVAILABLE, "the delivery could not be kept\n"))
        }
    }
}

/// A short word of plain characters.
fn is_an_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.len() <= 100 && text.bytes().all(plain)
}
