//! What a siege was made of.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    mock::{Fault, GitHub},
    siege::Siege,
};

pub(crate) fn of(siege: &Siege, github: &GitHub, database: &str) -> Value {
    let attempts = github.deliveries();
    let events = attempts.iter().filter(|it| !it.redelivery).count();
    let arrived = |status: u16| (200..300).contains(&status);
    let lost = attempts.iter().filter(|it| !it.tried.as_ref().is_some_and(|it| arrived(it.status)));
    let mut faults: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in github.faults_met() {
        *faults.entry(name(fault)).or_default() += 1;
    }
    let (under_fire, seconds) = siege.seconds();
    let tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
    json!({
        "database": database,
        "seed": siege.seed(),
        "pull_requests": siege.stories.len(),
        "kills": siege.kills.values().sum::<usize>(),
        "kills_of": siege.kills,
        "kills_during": siege.kills_during,
        "deliveries": {
            "events": events,
            "attempts": attempts.len(),
            "lost": lost.count(),
            "doubled": github.doubled_deliveries(),
        },
        "requests": github.requests().len(),
        "faults": faults.values().sum::<usize>(),
        "faults_of": faults,
        "seconds_under_fire": tenths(under_fire),
        "seconds": tenths(seconds),
    })
}

fn name(fault: Fault) -> &'static str {
    match fault {
        Fault::TooMany { .. } => "status_429",
        Fault::Secondary { .. } | Fault::Exhausted { .. } => "status_403",
        Fault::ErrorBefore => "status_500_before",
        Fault::ErrorAfter => "status_500_after",
        Fault::DropBefore => "dropped_before",
        Fault::DropAfter => "dropped_after",
        Fault::ExpireTokens => "tokens_expired",
        Fault::Delay(_) => "delayed",
        Fault::Status(_) => "other_status",
    }
}
