use super::*;
use crate::report::terminal::Style;

const PLAIN: Style = Style { colour: false, width: 100 };

fn ratio(median: f64) -> Ratio {
    Ratio { median, low: median * 0.98, high: median * 1.02, rounds: 11 }
}

fn report(results: Vec<BenchResult>) -> BenchReport {
    BenchReport {
        schema: SCHEMA,
        device: "NVIDIA H200".into(),
        interpreted: false,
        results,
        notes: Vec::new(),
    }
}

fn fast() -> BenchResult {
    let case = BenchCase {
        case: "4096x4096".into(),
        error: Some(0.12),
        latency_us: Some(41.2),
        baseline_us: Some(58.7),
        eager_us: Some(132.0),
        vs_baseline: Some(ratio(1.42)),
        vs_eager: Some(ratio(3.2)),
        ..BenchCase::default()
    };
    let vs_baseline = Some(ratio(1.42));
    BenchResult { vs_baseline, ..BenchResult::accepted("fast.py", vec![case]) }
}

fn cheat() -> BenchResult {
    let reason = "returned the same output for two different inputs";
    let rejection = Rejection::new(Gate::Integrity, reason).on_case("4096x4096").at_line(Some(2));
    BenchResult::accepted("cheat.py", Vec::new()).rejected(rejection, "import torch\nreturn kept\n")
}

#[test]
fn a_page_shows_verdicts_times_and_evidence() {
    insta::assert_snapshot!(render(&report(vec![fast(), cheat()]), PLAIN));
}

#[test]
fn json_has_what_programs_rely_on() {
    let json = report(vec![fast(), cheat()]).json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], 1);
    let [accepted, rejected] = [&value["results"][0], &value["results"][1]];
    assert_eq!(accepted["verdict"], "accepted");
    assert!(accepted["gate"].is_null() && accepted["cases"][0]["latency_us"] == 41.2);
    assert_eq!(rejected["verdict"], "rejected");
    assert_eq!(rejected["gate"], "integrity");
    assert_eq!(rejected["evidence"]["source"], "return kept");
}

#[test]
fn one_rejected_file_is_enough_for_a_bad_end() {
    assert!(report(vec![fast()]).all_accepted());
    assert!(!report(vec![fast(), cheat()]).all_accepted());
}

#[test]
fn words_of_others_cannot_act_on_a_terminal() {
    let mut hostile = cheat();
    hostile.file = "\u{1b}[2Jx.py".into();
    hostile.reason = Some("gone\u{1b}]0;title\u{7}".into());
    let page = render(&report(vec![hostile]), PLAIN);
    assert!(!page.contains('\u{1b}') && !page.contains('\u{7}'), "{page:?}");
}
