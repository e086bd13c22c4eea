//! A database that is gone, and a service that is told to stop in the middle of everything.

use std::sync::Arc;

use kernelbrain::{
    github::{AppCredentials, GitHub, SystemWallClock},
    service::{
        clock::SystemClock,
        runner::LocalGrants,
        server::{ServiceState, router, spawn_receiver},
    },
    store::{SqliteStore, sqlite::SqliteOptions},
};
use tokio::{sync::Notify, task::JoinSet};

use crate::{
    mock::{APP_ID, APP_KEY},
    service::{SECRET, Service, answer, delivery, sign},
};

#[tokio::test(flavor = "multi_thread")]
async fn without_its_database_the_service_says_so_and_promises_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let store = SqliteStore::open_with(&path, SqliteOptions::service()).await.unwrap();
    let url = doors(store.clone()).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let signature = sign(SECRET, b"{}");
    let deliver = |id| {
        answer(delivery(&client, &format!("{url}/webhook"), "ping", id, b"{}", Some(&signature)))
    };
    assert_eq!(deliver("before").await.0, 202);
    assert_eq!(answer(client.get(format!("{url}/readyz"))).await.0, 200);

    store.close().await;
    assert_eq!(deliver("after").await, (503, "the delivery could not be kept\n".to_owned()));
    let ready = answer(client.get(format!("{url}/readyz"))).await;
    assert_eq!(ready, (503, "the database does not answer\n".to_owned()));
    // It lives, and starting it again would not help.
    assert_eq!(answer(client.get(format!("{url}/healthz"))).await.0, 200);
    assert_eq!(answer(client.get(format!("{url}/metrics"))).await.0, 404, "metrics are off");
}

/// The routes alone, over a store that a test can break.
async fn doors(store: SqliteStore) -> String {
    let credentials = AppCredentials { app_id: APP_ID, private_key: APP_KEY.into() };
    let github = GitHub::new("http://127.0.0.1:9", credentials, Arc::new(SystemWallClock)).unwrap();
    let (store, bell) = (Arc::new(store), Arc::new(Notify::new()));
    let state = ServiceState {
        store: store.clone(),
        clock: Arc::new(SystemClock),
        secrets: vec![SECRET.into()],
        receiver: spawn_receiver(store, Arc::clone(&bell)),
        bell,
        grants: Arc::new(LocalGrants(github)),
        runner_secret: None,
        metrics: None,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router(Arc::new(state))).await.unwrap() });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_before_a_stop_is_there_after_it() {
    let mut service = Service::start().await;
    let (url, body) = (service.url("/webhook"), b"{}");
    let signature = sign(SECRET, body);
    let mut crowd = JoinSet::new();
    for number in 0..200 {
        let id = format!("rush-{number}");
        let request = delivery(&service.client, &url, "ping", &id, body, Some(&signature));
        // Some find the door shut.
        crowd.spawn(async move {
            let answer = request.send().await.ok();
            answer.is_some_and(|answer| answer.status() == 202).then_some(id)
        });
    }
    let mut promised: Vec<String> = Vec::new();
    while promised.len() < 20 {
        promised.extend(crowd.join_next().await.unwrap().unwrap());
    }
    service.stop().await;
    promised.extend(crowd.join_all().await.into_iter().flatten());

    service.go_on().await;
    for id in &promised {
        assert_eq!(service.deliver("ping", id, body).await, (202, "known\n".to_owned()), "{id}");
        assert_eq!(service.rows(id).await, 1);
        assert_eq!(service.outcome(id).await, "done");
    }
    service.github.finish();
}
