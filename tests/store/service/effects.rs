//! Promises about what is owed to GitHub.

use kernelbrain::store::service::{EffectState, NewEffect, ServiceStore};
use serde_json::json;

use crate::service::stories::{PULL, done, dropping, effect, keep, owing};

async fn due(store: &impl ServiceStore, now: i64) -> Vec<String> {
    let due = store.effects_due(PULL.installation, now, 100).await.unwrap();
    due.into_iter().map(|effect| effect.new.key).collect()
}

pub(crate) async fn come_by_urgency_then_age(store: &impl ServiceStore) {
    let with = |key: &str, priority, due| NewEffect { priority, due, ..effect(key) };
    let elsewhere = NewEffect { installation: 12, due: 70, ..effect("elsewhere") };
    let asked = [with("comment", 2, 0), with("check", 1, 50), with("label", 2, 0), elsewhere];
    keep(store, owing(asked), 10).await;
    keep(store, owing([with("reaction", 0, 0)]), 10).await;
    assert_eq!(due(store, 49).await, ["reaction", "comment", "label"]);
    assert_eq!(due(store, 50).await, ["reaction", "check", "comment", "label"]);
    let first = store.effects_due(PULL.installation, 50, 1).await.unwrap();
    assert_eq!(first[0].new, with("reaction", 0, 0));
    assert_eq!((first[0].revision, first[0].state, first[0].attempts), (1, EffectState::Owed, 0));
    assert_eq!((&first[0].remote, &first[0].error), (&None, &None));

    assert_eq!(store.installations_owed(-1).await.unwrap(), [0; 0]);
    assert_eq!(store.installations_owed(60).await.unwrap(), [11]);
    assert_eq!(store.installations_owed(70).await.unwrap(), [11, 12]);
    assert_eq!(store.owed().await.unwrap(), 5);

    keep(store, done("comment", 1, Some("4711")), 60).await;
    assert_eq!(due(store, 60).await, ["reaction", "check", "label"]);
    let performed = store.effect("comment").await.unwrap().unwrap();
    assert_eq!((performed.state, performed.remote.as_deref()), (EffectState::Done, Some("4711")));
    assert_eq!(store.effect("nobody's").await.unwrap(), None);
}

pub(crate) async fn asked_for_again_are_replaced_or_left(store: &impl ServiceStore) {
    let other = NewEffect { priority: 2, ..effect("other") };
    keep(store, owing([NewEffect { priority: 2, ..effect("check") }, other]), 10).await;
    keep(store, done("check", 1, Some("99")), 11).await;
    let newer = NewEffect { priority: 2, due: 20, body: json!({"rung": 1}), ..effect("check") };
    keep(store, owing([newer.clone()]), 12).await;
    let kept = store.effect("check").await.unwrap().unwrap();
    assert_eq!((&kept.new, kept.revision, kept.state), (&newer, 2, EffectState::Owed));
    assert_eq!(kept.remote.as_deref(), Some("99"), "what is there already is changed, not doubled");
    assert_eq!(due(store, 20).await, ["check", "other"], "its place is kept");

    store.postpone_effect("check", 2, Some(500), "secondary rate limit").await.unwrap();
    let sooner = NewEffect { due: 30, ..newer.clone() };
    keep(store, owing([sooner.clone()]), 13).await;
    let kept = store.effect("check").await.unwrap().unwrap();
    assert_eq!((&kept.new, kept.revision, kept.attempts), (&sooner, 3, 0));
    assert_eq!(kept.error, None);

    let once = NewEffect { replaces: false, body: json!("once more"), ..newer };
    keep(store, owing([once.clone()]), 14).await;
    assert_eq!(store.effect("check").await.unwrap().unwrap(), kept);
    // Also where it was performed.
    keep(store, done("check", 3, None), 15).await;
    keep(store, owing([once]), 16).await;
    let kept = store.effect("check").await.unwrap().unwrap();
    assert_eq!((kept.state, kept.remote.as_deref()), (EffectState::Done, Some("99")));
}

pub(crate) async fn done_in_an_old_revision_stay_owed(store: &impl ServiceStore) {
    keep(store, owing([effect("check")]), 10).await;
    keep(store, owing([effect("check")]), 11).await;
    keep(store, done("check", 1, Some("99")), 12).await;
    let kept = store.effect("check").await.unwrap().unwrap();
    assert_eq!((kept.state, kept.revision), (EffectState::Owed, 2));
    assert_eq!(kept.remote.as_deref(), Some("99"), "the next revision changes that one");
    let again = kernelbrain::store::service::Change {
        effects: vec![effect("check")],
        ..done("check", 2, None)
    };
    keep(store, again, 13).await;
    let kept = store.effect("check").await.unwrap().unwrap();
    assert_eq!((kept.state, kept.revision), (EffectState::Owed, 3), "done, and owed anew");
}

pub(crate) async fn that_fail_come_again_or_are_given_up(store: &impl ServiceStore) {
    keep(store, owing([effect("comment")]), 10).await;
    store.postpone_effect("comment", 1, Some(100), "502 \u{0}").await.unwrap();
    store.postpone_effect("comment", 2, Some(900), "of another revision").await.unwrap();
    assert_eq!(due(store, 99).await, [""; 0]);
    let again = store.effects_due(PULL.installation, 100, 10).await.unwrap();
    assert_eq!(again[0].attempts, 1);
    assert!(again[0].error.as_deref().unwrap().starts_with("502"), "{:?}", again[0].error);

    store.postpone_effect("comment", 1, None, "403: no permission").await.unwrap();
    let failed = store.effect("comment").await.unwrap().unwrap();
    assert_eq!((failed.state, failed.attempts), (EffectState::Failed, 2));
    assert_eq!(failed.error.as_deref(), Some("403: no permission"));
    assert_eq!(store.owed().await.unwrap(), 0);
    store.postpone_effect("comment", 1, Some(100), "too late").await.unwrap();
    assert_eq!(store.effect("comment").await.unwrap().unwrap(), failed);

    keep(store, owing([effect("comment")]), 20).await;
    assert_eq!(due(store, 20).await, ["comment"], "asked for again, it gets another chance");
}

pub(crate) async fn are_dropped_unless_done(store: &impl ServiceStore) {
    keep(store, owing(["done", "owed", "kept"].map(effect)), 10).await;
    keep(store, done("done", 1, None), 11).await;
    keep(store, dropping(&["done", "owed", "unknown"]), 12).await;
    let state = async |key: &str| store.effect(key).await.unwrap().map(|effect| effect.state);
    assert_eq!(state("done").await, Some(EffectState::Done));
    assert_eq!(state("owed").await, Some(EffectState::Dropped));
    assert_eq!(state("unknown").await, None);
    assert_eq!(due(store, 20).await, ["kept"]);

    // Dropped while it was being performed: what it made is known all the same.
    keep(store, done("owed", 1, Some("4711")), 13).await;
    let performed = store.effect("owed").await.unwrap().unwrap();
    assert_eq!((performed.state, performed.remote.as_deref()), (EffectState::Done, Some("4711")));
    let anew = kernelbrain::store::service::Change {
        effects: vec![effect("kept")],
        ..dropping(&["kept"])
    };
    keep(store, anew, 14).await;
    assert_eq!(due(store, 20).await, ["kept"]);
}
