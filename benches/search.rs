//! The search's own machinery: 10,000 candidates over three rungs, with evaluations that cost
//! nothing. `cargo bench --bench search`
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark of a search that fails has no figure"
)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

#[path = "../tests/search/run.rs"]
mod run;
#[path = "../tests/search/world/mod.rs"]
mod world;

use kernelbrain::search::Generation;
use run::{Ran, Run};

const CANDIDATES: usize = 10_000;

fn prepare() -> Run {
    Run::new(CANDIDATES / 2, 4, 6, 12).with(|run| {
        run.plan.generation = Generation {
            seeds: CANDIDATES / 2,
            children: 4,
            max_candidates: CANDIDATES,
            rewrites: None,
        };
        run.lab.shuffle = Some(7);
    })
}

fn search(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be built");
    let check = |ran: &Ran| {
        assert_eq!(ran.state.records().len(), CANDIDATES);
        assert_eq!(ran.state.queued(0), 0, "all of them were evaluated");
    };
    let mut group = c.benchmark_group("search");
    group.sample_size(10);
    group.bench_function("10,000 candidates, 3 rungs", |bencher| {
        bencher.iter_batched(
            prepare,
            |run| {
                let ran = runtime.block_on(run.go());
                check(&ran);
                ran
            },
            BatchSize::PerIteration,
        );
    });
    let ran = runtime.block_on(prepare().go());
    group.bench_function("resume from its journal", |bencher| {
        bencher.iter_batched(
            || (prepare(), ran.events.clone()),
            |(run, events)| {
                let ran = runtime.block_on(run.go_on(events, None));
                check(&ran);
                ran
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
