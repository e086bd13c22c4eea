//! Predictions: reading and judging them.

use super::*;
use crate::kernel::{KernelProfile, Profile, Throughput, Traffic};

fn predicted(text: &str) -> (Option<Prediction>, Vec<String>) {
    let rewrite = read(&format!("{}\n{text}", fenced(&changed()))).unwrap();
    assert_eq!(rewrite.source, changed());
    (rewrite.prediction, rewrite.notes)
}

#[test]
fn a_prediction_is_read_from_its_fence_or_its_line() {
    let expected =
        Prediction { metric: Metric::DramBytes, direction: Direction::Down, amount: Some(0.4) };
    for text in [
        "```prediction\ndram_bytes down 40%\n```",
        "Prediction: dram_bytes down by 40 %.",
        "**Prediction:** `DRAM bytes` decreases 40%",
        "- prediction: dram-traffic falls ~40%",
        "```prediction\nprediction: dram_bytes: down 40%\n```",
    ] {
        assert_eq!(predicted(text), (Some(expected), Vec::new()), "{text}");
    }
}

#[test]
fn factors_are_shares_of_the_value_before() {
    let amount = |text: &str| Prediction::parse(text).unwrap().amount.unwrap();
    assert!((amount("duration down 2x") - 0.5).abs() < 1e-9);
    assert!((amount("occupancy up 3x") - 2.0).abs() < 1e-9);
    assert!((amount("l2_hit up 150%") - 1.5).abs() < 1e-9);
    assert_eq!(Prediction::parse("kernels down").unwrap().amount, None);
}

#[test]
fn a_malformed_prediction_is_dropped_with_a_note() {
    for (text, reason) in [
        ("happiness up 40%", "there is no metric `happiness`"),
        ("dram_bytes 40%", "neither up nor down"),
        ("dram_bytes down 140%", "nothing falls by more than 100%"),
        ("dram_bytes down a lot", "no amount such as 40% or 2x"),
        ("dram_bytes down NaN%", "no amount"),
        ("dram_bytes down 0.5x", "no amount"),
    ] {
        let (prediction, notes) = predicted(&format!("```prediction\n{text}\n```"));
        assert_eq!(prediction, None);
        assert!(notes.len() == 1 && notes[0].contains(reason), "{notes:?}");
    }
    assert_eq!(predicted("This prediction is hard."), (None, Vec::new()));
}

#[test]
fn one_prediction_is_kept() {
    let (prediction, notes) = predicted("```prediction\nduration down 10%\nkernels down 2x\n```");
    assert_eq!(prediction.unwrap().to_string(), "duration down 10%");
    assert_eq!(notes, ["1 further predictions were dropped: one is kept"]);
}

fn profile(duration_us: f64, dram: f64) -> Profile {
    let traffic =
        Traffic { dram_read_bytes: Some(dram), dram_write_bytes: Some(0.0), ..Traffic::default() };
    let kernel = KernelProfile { duration_us, traffic, ..KernelProfile::default() };
    Profile { case: "main".to_owned(), kernels: vec![kernel], ..Profile::default() }
}

#[test]
fn a_prediction_comes_true_with_half_of_its_amount() {
    let judge = |text: &str, before: f64, after: f64| {
        Prediction::parse(text).unwrap().judge(&profile(before, before), &profile(after, after))
    };
    assert_eq!(judge("dram_bytes down 40%", 100.0, 55.0), Judgement::Confirmed);
    assert_eq!(judge("dram_bytes down 40%", 100.0, 80.0), Judgement::Confirmed);
    assert_eq!(judge("dram_bytes down 40%", 100.0, 85.0), Judgement::Refuted);
    assert_eq!(judge("dram_bytes down 40%", 100.0, 140.0), Judgement::Refuted);
    assert_eq!(judge("duration down", 100.0, 97.0), Judgement::Confirmed);
    assert_eq!(judge("duration down", 100.0, 99.0), Judgement::Refuted, "within noise");
    assert_eq!(judge("duration up 2x", 100.0, 160.0), Judgement::Confirmed);
    assert_eq!(judge("dram_bytes down 100%", 0.0, 0.0), Judgement::Refuted);
    assert_eq!(judge("dram_bytes up", 0.0, 5.0), Judgement::Confirmed);
}

#[test]
fn what_the_profiles_do_not_say_is_not_known() {
    let judge = |text: &str, before: &Profile, after: &Profile| {
        Prediction::parse(text).unwrap().judge(before, after)
    };
    let whole = profile(10.0, 10.0);
    assert_eq!(judge("tensor_pipe up", &whole, &whole), Judgement::Unknown);
    let incomplete = Profile { incomplete: true, ..profile(5.0, 5.0) };
    assert_eq!(judge("duration down", &whole, &incomplete), Judgement::Unknown);
    let other = Profile { case: "other".to_owned(), ..profile(5.0, 5.0) };
    assert_eq!(judge("duration down", &whole, &other), Judgement::Unknown);
    assert_eq!(judge("duration down", &whole, &Profile::default()), Judgement::Unknown);
    assert_eq!(judge("duration down", &whole, &profile(f64::NAN, 1.0)), Judgement::Unknown);
}

#[test]
fn every_metric_is_named_and_read() {
    let mut kernel = profile(10.0, 10.0).kernels.remove(0);
    kernel.throughput = Throughput { dram: Some(50.0), ..Throughput::default() };
    let whole = Profile { kernels: vec![kernel.clone(), kernel], ..profile(1.0, 1.0) };
    assert_eq!(Metric::Duration.read(&whole), Some(20.0));
    assert_eq!(Metric::DramBytes.read(&whole), Some(20.0));
    assert_eq!(Metric::DramThroughput.read(&whole), Some(50.0));
    assert_eq!(Metric::Kernels.read(&whole), Some(2.0));
    for metric in Metric::ALL {
        assert_eq!(Metric::named(metric.name()), Some(metric));
    }
}
