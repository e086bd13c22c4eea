//! Promises about deliveries.

use std::sync::Arc;

use kernelbrain::store::service::{
    Change, Delivery, DeliveryState, DeliveryStore, Inserted, Receipt, ServiceStore,
};

use crate::service::stories::{keep, receipt};

fn handled(id: &str) -> Change {
    Change { delivery: Some(id.into()), ..Change::default() }
}

async fn waiting(store: &impl DeliveryStore, now: i64) -> Vec<String> {
    let due = store.deliveries_due(now, 1000).await.unwrap();
    due.into_iter().map(|delivery| delivery.receipt.id).collect()
}

pub(crate) async fn are_kept_once_and_come_in_order(store: &impl ServiceStore) {
    assert_eq!(store.receive(&[]).await.unwrap(), []);
    // The second "b" of the batch is that of a proxy that sent twice.
    let batch = ["c", "b", "b", "a"].map(receipt);
    let answers = store.receive(&batch).await.unwrap();
    assert_eq!(answers, [Inserted::New, Inserted::New, Inserted::Known, Inserted::New]);
    assert_eq!(store.receive(&[receipt("a")]).await.unwrap(), [Inserted::Known]);

    let due = store.deliveries_due(1000, 2).await.unwrap();
    let expected = ["c", "b"].map(|id| Delivery { receipt: receipt(id), attempts: 0 });
    assert_eq!(due, expected, "as they came, byte for byte");
    assert_eq!(waiting(store, 999).await, [""; 0], "not before they came");

    keep(store, handled("b"), 1100).await;
    assert_eq!(waiting(store, 2000).await, ["c", "a"]);
    assert_eq!(store.delivery_state("b").await.unwrap(), Some(DeliveryState::Done));
    assert_eq!(store.delivery_state("c").await.unwrap(), Some(DeliveryState::Received));
    assert_eq!(store.delivery_state("nobody's").await.unwrap(), None);
    assert_eq!(store.receive(&[receipt("b")]).await.unwrap(), [Inserted::Known], "done is done");
    assert_eq!(waiting(store, 2000).await, ["c", "a"]);
}

pub(crate) async fn are_received_by_the_hundred(store: &impl ServiceStore) {
    let names: Vec<_> = (0..500).map(|number| format!("delivery-{number}")).collect();
    let batch: Vec<_> = names.iter().map(|name| receipt(name)).collect();
    let answers = store.receive(&batch).await.unwrap();
    assert!(answers == vec![Inserted::New; 500], "{answers:?}");
    assert_eq!(waiting(store, 1000).await, names);
}

pub(crate) async fn of_the_same_moment_are_kept_once(
    stores: Vec<Arc<impl ServiceStore + 'static>>,
) {
    let names: Vec<_> = (0..50).map(|number| format!("delivery-{number}")).collect();
    assert_eq!(receive_crosswise(&stores, &names, Inserted::New).await, 50);
    assert_eq!(waiting(&*stores[0], 1000).await.len(), 50);

    for name in &names {
        stores[0].postpone_delivery(name, None, "in vain").await.unwrap();
    }
    assert_eq!(receive_crosswise(&stores, &names, Inserted::Again).await, 50, "each but once");
    assert_eq!(waiting(&*stores[0], 1000).await.len(), 50);
}

/// How often eight, each with another order of the same deliveries, are answered by `answer`.
async fn receive_crosswise(
    stores: &[Arc<impl ServiceStore + 'static>],
    names: &[String],
    answer: Inserted,
) -> usize {
    let tasks: Vec<_> = (0..8)
        .map(|task: usize| {
            let store = Arc::clone(&stores[task % stores.len()]);
            let mut batch: Vec<_> = names.iter().map(|name| receipt(name)).collect();
            batch.rotate_left(task * 6);
            if task % 2 == 1 {
                batch.reverse();
            }
            tokio::spawn(async move { store.receive(&batch).await.unwrap() })
        })
        .collect();
    let mut answers = 0;
    for task in tasks {
        answers += task.await.unwrap().iter().filter(|given| **given == answer).count();
    }
    answers
}

pub(crate) async fn that_cannot_be_handled_come_again_or_are_given_up(store: &impl ServiceStore) {
    store.receive(&[receipt("a"), receipt("b")]).await.unwrap();
    store.postpone_delivery("a", Some(5000), "GitHub says 502 \u{0}").await.unwrap();
    assert_eq!(waiting(store, 4999).await, ["b"]);
    let due = store.deliveries_due(5000, 10).await.unwrap();
    assert_eq!((due[0].receipt.id.as_str(), due[0].attempts), ("a", 1), "its place is kept");

    store.postpone_delivery("a", None, "no such repository").await.unwrap();
    assert_eq!(store.delivery_state("a").await.unwrap(), Some(DeliveryState::Failed));
    assert_eq!(waiting(store, 9000).await, ["b"]);

    let answers = store.receive(&[receipt("a"), receipt("a"), receipt("b")]).await.unwrap();
    assert_eq!(answers, [Inserted::Again, Inserted::Known, Inserted::Known]);
    let due = store.deliveries_due(1000, 10).await.unwrap();
    assert_eq!((due[0].receipt.id.as_str(), due[0].attempts), ("a", 0), "a fresh start");

    keep(store, handled("a"), 1100).await;
    store.postpone_delivery("a", None, "too late").await.unwrap();
    assert_eq!(store.delivery_state("a").await.unwrap(), Some(DeliveryState::Done));
}

pub(crate) async fn that_ask_for_nothing_are_done_together(store: &impl ServiceStore) {
    store.receive(&["a", "b", "c", "failed"].map(receipt)).await.unwrap();
    store.postpone_delivery("failed", None, "not JSON").await.unwrap();
    store.deliveries_done(&[], 1100).await.unwrap();
    store.deliveries_done(&["c", "a", "nobody's"], 1100).await.unwrap();
    assert_eq!(waiting(store, 2000).await, ["b"]);
    for id in ["a", "c"] {
        assert_eq!(store.delivery_state(id).await.unwrap(), Some(DeliveryState::Done));
        assert_eq!(store.receive(&[receipt(id)]).await.unwrap(), [Inserted::Known]);
    }
    assert_eq!(store.delivery_state("nobody's").await.unwrap(), None);
    store.deliveries_done(&["failed"], 1100).await.unwrap();
    assert_eq!(store.delivery_state("failed").await.unwrap(), Some(DeliveryState::Failed));
    assert_eq!(store.forget_deliveries(1101).await.unwrap(), 3, "they ended then");
}

pub(crate) async fn without_a_body_are_done_like_others(store: &impl ServiceStore) {
    let empty = |id: &str| Receipt { body: Vec::new(), ..receipt(id) };
    store.receive(&[empty("together"), empty("alone"), receipt("b")]).await.unwrap();
    store.deliveries_done(&["together", "b"], 1100).await.unwrap();
    keep(store, handled("alone"), 1100).await;
    assert!(waiting(store, 2000).await.is_empty());
}

pub(crate) async fn are_forgotten_when_they_ended_long_ago(store: &impl ServiceStore) {
    store.receive(&["waits", "old", "new", "failed"].map(receipt)).await.unwrap();
    keep(store, handled("old"), 2000).await;
    keep(store, handled("new"), 3000).await;
    store.postpone_delivery("failed", Some(2500), "not now").await.unwrap();
    store.postpone_delivery("failed", None, "never").await.unwrap();
    assert_eq!(store.forget_deliveries(2000).await.unwrap(), 0);
    assert_eq!(store.forget_deliveries(2500).await.unwrap(), 1);
    assert_eq!(store.delivery_state("old").await.unwrap(), None);
    assert_eq!(store.forget_deliveries(2501).await.unwrap(), 1);
    assert_eq!(store.delivery_state("failed").await.unwrap(), None);
    assert_eq!(store.delivery_state("new").await.unwrap(), Some(DeliveryState::Done));
    assert_eq!(waiting(store, 9000).await, ["waits"]);
}
