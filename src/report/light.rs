//! How far from the speed of light each case is, the same in every format.

use super::{CaseRow, Report, format};
use crate::kernel::{CeilingMethod, Precision};

/// A case that has a bound, with headrooms as `1.84×`.
#[derive(Debug)]
pub(super) struct LightRow<'r> {
    pub(super) name: &'r str,
    pub(super) bound: String,
    pub(super) limiter: String,
    pub(super) baseline: String,
    pub(super) best: String,
    pub(super) eager: String,
    pub(super) compile: String,
}

/// The cases that have a bound; none on the cpu device.
pub(super) fn rows(report: &Report) -> Vec<LightRow<'_>> {
    report.cases.iter().filter_map(row).collect()
}

fn row(case: &CaseRow) -> Option<LightRow<'_>> {
    let bound = case.bound?;
    let headroom = case.headroom.unwrap_or_default();
    Some(LightRow {
        name: &case.name,
        bound: format::time(bound.us),
        limiter: bound.limiter.to_string(),
        baseline: format::times_or_nothing(headroom.baseline),
        best: format::times_or_nothing(headroom.best),
        eager: format::times_or_nothing(headroom.eager),
        compile: format::times_or_nothing(headroom.compile),
    })
}

/// What the bounds rest on, in one line; `None` without ceilings.
pub(super) fn ceilings(report: &Report) -> Option<String> {
    let ceilings = report.device.ceilings.as_ref()?;
    let gbps =
        |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value:.0} GB/s"));
    let product = |precision: Precision| {
        let tera = ceilings.products.get(&precision)?;
        Some(format!("{precision} {tera:.0} TFLOP/s"))
    };
    let parts = [
        gbps("read", ceilings.read_gbps),
        gbps("copy", ceilings.copy_gbps),
        gbps("theoretical", ceilings.theoretical_gbps),
        product(Precision::Bf16),
        product(Precision::Fp32),
        ceilings.launch_floor_us.map(|us| format!("launch {}", format::time(us))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let how = match ceilings.method {
        CeilingMethod::Theoretical => "from the device's clocks, not measured",
        CeilingMethod::Short => "measured at the device's first use",
        CeilingMethod::Full => "measured by kernelbrain calibrate",
    };
    (!parts.is_empty()).then(|| format!("{} ({how})", parts.join(", ")))
}
