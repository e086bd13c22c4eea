//! `kernelbrain calibrate`: what a GPU reaches at best.

use std::path::PathBuf;

use super::{
    CommandResult,
    common::{MachineOptions, SandboxMode, block_on, printable},
};
use crate::{
    engine::{CalibrateRequest, Calibrated, calibrate, exit},
    evaluate::Device,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    machine: MachineOptions,
    /// Database that keeps the figures [default: in the user's data folder]
    #[arg(long, value_name = "FILE", env = "KERNELBRAIN_DB")]
    db: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: Options) -> CommandResult {
    let device = options.machine.device.resolve()?;
    if device == Device::Cpu {
        let why = "there is nothing to calibrate: the cpu device is an interpreter, without a speed of light";
        if options.json {
            let nothing =
                serde_json::json!({"schema": 1, "device": null, "ceilings": null, "notes": [why]});
            outln!("{nothing:#}");
        } else {
            outln!("{why}");
        }
        return Ok(exit::FINISHED);
    }
    let request = CalibrateRequest {
        device,
        interpreter: options.machine.interpreter()?,
        best_effort: options.machine.sandbox == SandboxMode::BestEffort,
        database: options.db,
    };
    eprintln!("calibrating {device}; it should have nothing else to do for half a minute");
    let calibrated = block_on(calibrate(request))?;
    if options.json {
        outln!("{:#}", calibrated.to_json());
    } else {
        out!("{}", table(&calibrated));
    }
    Ok(exit::FINISHED)
}

/// The figures with their units, one a line.
fn table(calibrated: &Calibrated) -> String {
    let (facts, ceilings) = (&calibrated.facts, &calibrated.ceilings);
    let mut lines = vec![format!(
        "{} ({}), driver {}, {} multiprocessors, {}",
        printable(&facts.name),
        facts.uuid,
        printable(&calibrated.driver),
        facts.sm_count,
        facts.clocks()
    )];
    let mut row = |name: &str, figure: Option<String>, key: &str| {
        let reason = || ceilings.skipped.get(key).map_or("not known", String::as_str);
        let shown = figure.unwrap_or_else(|| format!("– ({})", printable(reason())));
        lines.push(format!("  {name:<24} {shown}"));
    };
    let gbps = |value: Option<f64>| value.map(|value| format!("{value:>8.0} GB/s"));
    row("memory, theoretical", gbps(ceilings.theoretical_gbps), "");
    row("memory, read", gbps(ceilings.read_gbps), "read");
    row("memory, copy", gbps(ceilings.copy_gbps), "copy");
    row("L2 cache, read", gbps(ceilings.l2_gbps), "l2");
    let mib = |bytes: u64| format!("{:>8.1} MiB", bytes as f64 / f64::from(1 << 20));
    row("L2 cache, size", ceilings.l2_bytes.map(mib), "");
    let launch = ceilings.launch_floor_us.map(|us| format!("{us:>8.2} µs"));
    row("launch of nothing", launch, "launch_floor");
    for name in ["fp32", "tf32", "bf16", "fp16", "fp8", "int8"] {
        let rate = ceilings.products.iter().find(|(precision, _)| precision.to_string() == name);
        let unit = if name == "int8" { "TOP/s" } else { "TFLOP/s" };
        row(&format!("product, {name}"), rate.map(|(_, tera)| format!("{tera:>8.1} {unit}")), name);
    }
    lines.extend(calibrated.notes.iter().map(|note| format!("note: {}", printable(note))));
    lines.push(format!("measured in {:.0} s and kept for later runs", calibrated.seconds));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gpu::DeviceFacts,
        kernel::{Ceilings, Precision},
    };

    #[test]
    fn every_figure_has_its_unit_and_every_gap_its_reason() {
        let calibrated = Calibrated {
            facts: DeviceFacts {
                index: 0,
                uuid: "GPU-1a2b3c4d-0011-2233-4455-66778899aabb".into(),
                name: "NVIDIA A100".into(),
                compute_capability: (8, 0),
                sm_count: 108,
                l2_bytes: 40 << 20,
                sm_clock_khz: Some(1_410_000),
                memory_clock_khz: Some(1_512_000),
                memory_bus_bits: Some(5120),
                cuda_version: (12, 8),
                mig: false,
            },
            driver: "570.86".into(),
            ceilings: Ceilings {
                copy_gbps: Some(1650.4),
                l2_bytes: Some(40 << 20),
                products: [(Precision::Bf16, 271.3)].into(),
                skipped: [("fp8".to_owned(), "the device has no FP8 units".to_owned())].into(),
                ..Ceilings::default()
            },
            seconds: 19.6,
            notes: Vec::new(),
        };
        let table = table(&calibrated);
        assert!(table.contains("memory, copy                 1650 GB/s"), "{table}");
        assert!(table.contains("product, bf16               271.3 TFLOP/s"), "{table}");
        assert!(
            table.contains("product, fp8             – (the device has no FP8 units)"),
            "{table}"
        );
        assert!(table.contains("memory, read             – (not known)"), "{table}");
        assert!(table.ends_with("measured in 20 s and kept for later runs\n"), "{table}");
    }
}
