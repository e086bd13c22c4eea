//! A run while it goes: a live view on a terminal, plain lines elsewhere. On standard error, so
//! that standard output holds the result only.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::common::printable;
use crate::{
    engine::Audience,
    search::{Event, Observer, State},
};

/// A funnel line per rung, the best so far and what is left, redrawn in place.
#[derive(Debug)]
pub(super) struct LiveView {
    progress: MultiProgress,
    rungs: Vec<ProgressBar>,
    status: ProgressBar,
}

impl LiveView {
    pub(super) fn new() -> Self {
        let progress = MultiProgress::new();
        let status = progress.add(line());
        status.enable_steady_tick(Duration::from_millis(250));
        Self { progress, rungs: Vec::new(), status }
    }
}

fn line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    // A template without placeholders that could be wrong; the fallback is indicatif's own.
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

impl Observer for LiveView {
    fn observe(&mut self, state: &State, event: &Event) {
        if let Event::Warned { text } = event {
            self.note(text);
        }
        while self.rungs.len() < state.tallies().len() {
            self.rungs.push(self.progress.insert_before(&self.status, line()));
        }
        for (index, (tally, bar)) in state.tallies().zip(&self.rungs).enumerate() {
            bar.set_message(format!(
                "rung {index}  {:>4} entered  {:>4} rejected  {:>4} measured  {:>4} promoted",
                tally.entered, tally.rejected, tally.measured, tally.promoted
            ));
        }
        self.status.set_message(status(state));
    }
}

impl Audience for LiveView {
    fn note(&mut self, text: &str) {
        // Fails only where there is no terminal any more, and then nobody reads.
        self.progress.println(printable(text)).ok();
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        for bar in &self.rungs {
            bar.finish();
        }
        self.status.finish();
    }
}

/// A line for what is worth one: the baseline, a new best, a verification; and now and then the
/// funnel.
#[derive(Debug)]
pub(super) struct PlainView {
    last_funnel: Instant,
    best: f64,
}

const FUNNEL_EVERY: Duration = Duration::from_secs(10);

impl PlainView {
    pub(super) fn new() -> Self {
        Self { last_funnel: Instant::now(), best: 1.0 }
    }
}

impl Observer for PlainView {
    fn observe(&mut self, state: &State, event: &Event) {
        match event {
            Event::BaselineMeasured { evaluation } => match evaluation.rejection() {
                Some(rejection) => self.note(&format!("baseline rejected: {rejection}")),
                None => {
                    let cases = evaluation.cases.iter();
                    let times: Vec<String> =
                        cases.map(|m| format!("{} {:.1} µs", m.case, m.latency_us)).collect();
                    self.note(&format!("baseline: {}", times.join(", ")));
                }
            },
            Event::Verified { verification, .. } => {
                let id = verification.candidate.short();
                match (verification.vs_baseline, verification.accepted()) {
                    (Some(ratio), true) => self.note(&format!(
                        "verified {id}: {:.3}x ({:.3} to {:.3})",
                        ratio.median, ratio.low, ratio.high
                    )),
                    _ => self.note(&format!("verification rejected {id}")),
                }
            }
            Event::Warned { text } => self.note(text),
            _ => {}
        }
        if let Some(step) = state.trajectory().last()
            && step.speedup > self.best
        {
            self.best = step.speedup;
            self.note(&format!("best so far: {:.3}x ({})", step.speedup, step.candidate.short()));
        }
        if self.last_funnel.elapsed() >= FUNNEL_EVERY {
            self.last_funnel = Instant::now();
            let rungs: Vec<String> = state
                .tallies()
                .map(|tally| format!("{}/{}", tally.measured, tally.entered))
                .collect();
            self.note(&format!("measured/entered by rung: {}; {}", rungs.join(" "), status(state)));
        }
    }
}

impl Audience for PlainView {
    fn note(&mut self, text: &str) {
        eprintln!("{}", printable(text));
    }
}

/// The best so far and what is left of the budget.
fn status(state: &State) -> String {
    let mut parts = Vec::new();
    if let Some((record, speedup)) = state.leader().and_then(|r| Some((r, r.speedup()?))) {
        let candidate = record.candidate();
        let origin: String = printable(&candidate.origin.to_string()).chars().take(40).collect();
        parts.push(format!("best {speedup:.3}x ({}: {origin})", candidate.id.short()));
    }
    let left = state.remaining();
    if let Some(seconds) = left.wall_seconds {
        parts.push(format!("{seconds:.0} s left"));
    }
    if let Some(seconds) = left.gpu_seconds {
        parts.push(format!("{seconds:.0} GPU s left"));
    }
    if let Some(count) = left.evaluations {
        parts.push(format!("{count} evaluations left"));
    }
    parts.join(", ")
}
