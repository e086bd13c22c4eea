//! A day's rush at the door: signed deliveries at a fixed rate to the real `kernelbrain serve`, with
//! SQLite and a disk flush before every answer, while the service handles what came before.
//!
//! The sender keeps to its timetable whatever the service does, and a delivery's time counts from the
//! moment it was due: a service that stalls cannot hide what waited behind the stall. At the end the
//! service is killed, not stopped, and whatever it had acknowledged must be in its database.
//!
//! `make bench-webhooks`, or `cargo bench --bench webhooks -- --rate 1000 --seconds 10`; prints JSON and
//! fails if a delivery was lost.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot do its work has no figure"
)]

mod disk;
mod payload;
mod sender;
mod service;

use std::{path::Path, time::Duration};

use serde_json::json;

use payload::Timetable;
use service::Service;

/// What is aimed at.
const P99_TARGET_MS: f64 = 25.0;

fn main() {
    let rate = argument("--rate").unwrap_or(1000);
    let seconds = argument("--seconds").unwrap_or(10);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("webhooks");
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("the folder for the database can be made");

    let flush = disk::flush_times(&folder);
    let load = load_average();
    let service = Service::start(&folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    let timetable = Timetable::new(service::SECRET, rate, Duration::from_secs(seconds));
    let answers = runtime.block_on(sender::send(service.address, &timetable));
    let spent = service.cpu_seconds();
    let database = service.kill();
    let kept = runtime.block_on(service::kept(&database));

    let mut by_status = std::collections::BTreeMap::<String, usize>::new();
    for answer in &answers {
        let status = answer.status.map_or("none".to_owned(), |status| status.to_string());
        *by_status.entry(status).or_default() += 1;
    }
    let acknowledged = answers.iter().filter(|answer| answer.status == Some(202));
    let lost = acknowledged.filter(|answer| !kept.ids.contains(&answer.id)).count();
    let latencies = Latencies::of(answers.iter().map(|answer| answer.after));
    let report = json!({
        "rate": rate,
        "seconds": seconds,
        "sent": answers.len(),
        "answers": by_status,
        "lost": lost,
        "latency_ms": latencies.json(),
        "p99_target_ms": P99_TARGET_MS,
        "handled_meanwhile": kept.handled,
        "body_bytes": { "mean": timetable.mean_bytes(), "max": timetable.most_bytes() },
        "service_cpu_seconds": spent,
        "disk_flush_ms": flush.json(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load_average_before": load,
    });
    println!("{}", serde_json::to_string_pretty(&report).expect("figures are JSON"));
    assert!(lost == 0 && answers.len() == timetable.len(), "deliveries were lost");
}

fn argument(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
    arguments.next().map(|value| value.parse().expect("the argument is a number"))
}

/// Of the last minute: whether the machine was busy with something else.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// Durations in order.
struct Latencies(Vec<Duration>);

impl Latencies {
    fn of(durations: impl Iterator<Item = Duration>) -> Self {
        let mut sorted: Vec<_> = durations.collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// The smallest duration that at least `share` of all do not exceed, in milliseconds.
    fn at(&self, share: f64) -> f64 {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        let found = self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default();
        (found.as_secs_f64() * 1e5).round() / 100.0
    }

    fn json(&self) -> serde_json::Value {
        json!({ "p50": self.at(0.5), "p99": self.at(0.99), "p999": self.at(0.999), "max": self.at(1.0) })
    }
}
