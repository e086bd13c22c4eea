//! What Nsight Compute printed on an H200 (version 2025.3), whole and spoilt in the ways that
//! outputs are spoilt.

use proptest::prelude::*;

use crate::evaluate::profile::{Reading, Trouble, number::*, read};
use crate::kernel::{KernelProfile, OccupancyLimit};

/// An addition and a product, all sections, base units, the profiler's messages around the table.
pub(super) const FULL: &str = include_str!("../fixtures/full.csv");
/// The same call, basic sections only.
const BASIC: &str = include_str!("../fixtures/basic.csv");

fn kernels(output: &str) -> Vec<KernelProfile> {
    let reading = read(output.as_bytes());
    assert!(!reading.incomplete && reading.trouble.is_none(), "{reading:?}");
    reading.kernels
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= 1e-9 * expected.abs())
}

#[test]
fn every_figure_of_a_whole_output_is_read() {
    let kernels = kernels(FULL);
    let [add, product] = &kernels[..] else { panic!("{kernels:?}") };
    assert_eq!((add.name.as_str(), product.name.as_str()), ("add", "mm"));
    assert!(close(Some(add.duration_us), 44.832));
    assert_eq!(add.stream.as_deref(), Some("7"));
    assert_eq!(add.launch.programs, Some(16_384.0));
    assert_eq!(add.launch.warps_per_program(), Some(4.0));
    assert!(close(add.launch.waves, 7.76));
    assert!(close(add.throughput.dram, 83.96));
    assert!(close(add.traffic.dram_bytes(), 134_225_408.0 + 46_755_840.0));
    assert!(close(add.traffic.load_bytes_per_sector, 32.0));
    assert_eq!(add.traffic.local_bytes(), Some(0.0));
    assert!(close(add.occupancy.achieved, 81.53));
    assert!(add.stalls["long_scoreboard"] > 70.0, "{:?}", add.stalls);
    assert!((add.stalls.values().sum::<f64>() - 100.0).abs() < 1e-6);

    assert!(close(product.pipes.tensor, 44.69));
    assert_eq!(product.occupancy.limit, Some(OccupancyLimit::SharedMemory));
    assert_eq!(product.occupancy.programs, Some(4.0));
    assert_eq!(product.occupancy.programs_without_limit, Some(8.0));
    assert!(close(product.shared.conflicts, 112_546.0));
    assert!(close(product.issue.eligible_warps, 0.41));
    assert_eq!(product.atomics.requests, Some(0.0));
}

#[test]
fn sections_that_were_not_collected_are_missing_and_the_rest_is_there() {
    let kernels = kernels(BASIC);
    assert!(close(Some(kernels[1].duration_us), 40.448));
    assert!(close(kernels[1].throughput.memory, 78.93));
    assert_eq!(kernels[1].traffic.dram_bytes(), None);
    assert!(kernels[1].stalls.is_empty());
}

/// The fixture with its table alone, its fields given to `spoil` with their row and column.
fn spoilt(spoil: impl Fn(usize, &str, &str) -> String) -> String {
    let lines: Vec<&str> = FULL.lines().filter(|line| line.starts_with('"')).collect();
    let fields = |line: &str| -> Vec<String> {
        line[1..line.len() - 1].split("\",\"").map(str::to_owned).collect()
    };
    let columns = fields(lines[0]);
    let line = |(row, line): (usize, &&str)| {
        let fields = fields(line);
        let fields = columns.iter().zip(&fields).map(|(column, field)| spoil(row, column, field));
        format!("\"{}\"\n", fields.collect::<Vec<_>>().join("\",\""))
    };
    lines.iter().enumerate().map(line).collect()
}

#[test]
fn the_separators_of_another_language_change_nothing() {
    let swap = |text: &str, comma: &str, point: &str| {
        let parts: Vec<String> = text.split(',').map(|part| part.replace('.', point)).collect();
        parts.join(comma)
    };
    for (comma, point) in [(".", ","), ("\u{202f}", ","), ("'", "."), ("", ".")] {
        let german = spoilt(|row, column, field| match row {
            2.. if column.contains("__") || column.starts_with("memory_") => {
                swap(field, comma, point)
            }
            _ => field.to_owned(),
        });
        assert_eq!(kernels(&german), kernels(FULL), "{comma:?} and {point:?}");
    }
}

#[test]
fn headers_and_messages_in_another_language_change_nothing() {
    let renamed = spoilt(|row, column, field| match (row, column) {
        (0, "ID") => "番号".into(),
        (0, "Kernel Name") => "カーネル名".into(),
        _ => field.into(),
    });
    let text = format!("==PROF== プロセスに接続しました\n{renamed}==警告== x\n");
    assert_eq!(kernels(&text), kernels(FULL));
}

#[test]
fn other_units_are_converted_and_none_are_taken_for_base_units() {
    let larger = spoilt(|row, column, field| match (row, column) {
        (1, "gpu__time_duration.sum") => "us".into(),
        (2, "gpu__time_duration.sum") => "44.832".into(),
        (3, "gpu__time_duration.sum") => "40.48".into(),
        (1, "dram__bytes_read.sum") => "Mbyte".into(),
        (2, "dram__bytes_read.sum") => "134.225408".into(),
        _ => field.into(),
    });
    let kernels_then = kernels(&larger);
    assert!(close(Some(kernels_then[0].duration_us), 44.832));
    assert!(close(kernels_then[0].traffic.dram_read_bytes, 134_225_408.0));

    let lines: Vec<&str> = FULL.lines().filter(|line| line.starts_with('"')).collect();
    let without_units = [lines[0], lines[2], lines[3]].join("\n");
    assert_eq!(kernels(&without_units), kernels(FULL));
}

#[test]
fn values_that_are_none_are_missing_and_a_kernel_without_a_duration_is_left_out() {
    let gone = spoilt(|row, column, field| match (row, column) {
        (2, "dram__bytes_read.sum") => "n/a".into(),
        (2, "sm__throughput.avg.pct_of_peak_sustained_elapsed") => "nan".into(),
        (2, "launch__grid_size") => "(!) n/a".into(),
        (3, "gpu__time_duration.sum" | "gpu__time_duration.avg") => "no data".into(),
        _ => field.into(),
    });
    let reading = read(gone.as_bytes());
    assert!(reading.incomplete);
    let [add] = &reading.kernels[..] else { panic!("{reading:?}") };
    assert_eq!((add.throughput.sm, add.launch.programs), (None, None));
    assert_eq!(add.traffic.dram_bytes(), None);
    assert!(close(add.throughput.memory, 83.96));
}

#[test]
fn a_renamed_counter_is_found_by_its_older_name() {
    let older = FULL.replace(
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    );
    assert!(close(kernels(&older)[0].throughput.dram, 83.96));
}

#[test]
fn an_output_that_breaks_off_gives_what_it_has() {
    let at = FULL.rfind("\"40,480\"").unwrap();
    let reading = read(&FULL.as_bytes()[..at + 4]);
    assert!(reading.incomplete);
    assert_eq!(reading.kernels[0], kernels(FULL)[0]);
    // Half a number is no number.
    assert!(reading.kernels.get(1).is_none_or(|kernel| kernel.duration_us != 0.04));
    assert_eq!(read(b""), Reading::default());
}

#[test]
fn the_program_s_own_output_is_not_taken_for_the_table() {
    let noise = "loss, 1, 2, 3, 4, 5\n\"half a quotation, \n0,1,2\n";
    let first = FULL.find("\"ID\"").unwrap();
    let mixed = format!("{noise}{}{noise}", &FULL[first..]);
    let reading = read(mixed.as_bytes());
    assert_eq!(reading.kernels, kernels(FULL));
}

#[test]
fn a_refusal_is_told_by_its_code_and_other_errors_by_their_words() {
    let refused = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - 権限がありません\n";
    assert_eq!(read(refused.as_bytes()).trouble, Some(Trouble::NoPermission));
    let other = "==ERROR== Failed to profile \"add\" in process 7\u{1b}[31m\n";
    let expected = Trouble::Other("Failed to profile \"add\" in process 7[31m".into());
    assert_eq!(read(other.as_bytes()).trouble, Some(expected));
}

#[test]
fn names_of_c_plus_plus_templates_are_cut_short() {
    let long =
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)";
    let named = FULL.replacen("\"add\"", &format!("\"{long}\""), 1);
    assert_eq!(kernels(&named)[0].name, "at::native::vectorized_elementwise_kernel");
}

#[test]
fn numbers_are_read_as_they_are_meant() {
    let point = ["44,832", "1,504", "31.33", "7", "-0.5", "83.96%"];
    let decimal = Decimal::of(point.into_iter());
    let read = point.map(|text| number(text, decimal));
    let expected = [44_832.0, 1504.0, 31.33, 7.0, -0.5, 83.96].map(Some);
    assert_eq!((decimal, read), (Decimal::Point, expected));

    let comma = ["44.832", "1.504", "31,33", "1.234.567,8"];
    let decimal = Decimal::of(comma.into_iter());
    let read = comma.map(|text| number(text, decimal));
    assert_eq!(decimal, Decimal::Comma);
    assert_eq!(read, [44_832.0, 1504.0, 31.33, 1_234_567.8].map(Some));
    for none in ["", "n/a", "nan", "inf", "no data", "PolicySpread", "(128, 1, 1)", "1e999"] {
        assert_eq!(number(none, Decimal::Point), None, "{none}");
    }
    assert_eq!(
        [scale("Kbyte/block"), scale("msecond"), scale("%"), scale("")],
        [1e3, 1e6, 1.0, 1.0]
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_fail(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
    }

    /// Spoilt at random where it hurts: in the middle of an output.
    #[test]
    fn no_change_to_an_output_makes_the_reader_fail(
        at in 0..FULL.len(), length in 0..400_usize, bytes in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut text = FULL.as_bytes().to_vec();
        text.splice(at..(at + length).min(FULL.len()), bytes);
        for kernel in read(&text).kernels {
            prop_assert!(kernel.duration_us.is_finite() && kernel.duration_us > 0.0);
        }
    }
}
