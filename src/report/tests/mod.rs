use std::fs;

use super::{terminal::Style, *};

mod hostility;
mod patches;
mod pull_request;
mod samples;

const PLAIN: Style = Style { colour: false, width: 100 };

fn samples() -> [(&'static str, Report); 4] {
    [
        ("improved", samples::improved()),
        ("reviewed", samples::reviewed()),
        ("no_improvement", samples::no_improvement()),
        ("failed", samples::failed()),
    ]
}

#[test]
fn markdown_says_the_verdict_first() {
    for (name, report) in samples() {
        insta::assert_snapshot!(format!("markdown_{name}"), markdown::render(&report).unwrap());
    }
}

#[test]
fn a_terminal_gets_a_few_lines_and_a_table() {
    for (name, report) in samples() {
        insta::assert_snapshot!(format!("terminal_{name}"), terminal::render(&report, PLAIN));
    }
}

#[test]
fn a_narrow_terminal_loses_columns_and_not_its_alignment() {
    let text = terminal::render(&samples::improved(), Style { colour: false, width: 44 });
    insta::assert_snapshot!("terminal_narrow", text);
    assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
}

#[test]
fn colours_change_nothing_but_colours() {
    let report = samples::improved();
    let coloured = terminal::render(&report, Style { colour: true, ..PLAIN });
    assert!(coloured.starts_with("\u{1b}[32msoftmax is 1.72× faster\u{1b}[0m\n"), "{coloured}");
    assert_eq!(clean::text(&coloured), terminal::render(&report, PLAIN));
}

#[test]
fn json_has_its_fields_in_order_and_reads_back() {
    for (name, report) in samples() {
        let text = json::render(&report).unwrap();
        insta::assert_snapshot!(format!("json_{name}"), text);
        let again: Report = serde_json::from_str(&text).unwrap();
        let skipped =
            Report { baseline_source: String::new(), best_source: None, ..report.clone() };
        assert_eq!(again, skipped);
    }
}

#[test]
fn a_number_that_is_none_is_null() {
    let mut report = samples::improved();
    report.cases[0].best_us = Some(f64::NAN);
    report.cases[0].high = Some(f64::INFINITY);
    report.cases[1].low = Some(f64::NAN);
    report.cases[2].eager_us = Some(0.0);
    report.trajectory[1].speedup = f64::NAN;
    report.rungs[0].gpu_seconds = f64::NAN;
    let value: serde_json::Value = serde_json::from_str(&json::render(&report).unwrap()).unwrap();
    assert!(value["cases"][0]["best_us"].is_null());
    assert!(value["cases"][0]["high"].is_null());
    for text in [markdown::render(&report).unwrap(), html::render(&report).unwrap()] {
        assert!(!text.contains("NaN") && !text.contains("inf%") && !text.contains("inf×"));
    }
}

#[test]
fn the_page_has_what_a_reader_asks_for() {
    let page = html::render(&samples::improved()).unwrap();
    for wanted in [
        "<h1>softmax is 1.72× faster</h1>",
        "95 % interval 1.68× to 1.75× over the baseline, 25 paired rounds; NVIDIA H200, 3 cases.",
        "3.09 ms → 1.68 ms · 1.84×",
        "wall time, seconds",
        "baseline: memory-bound, 1.98 times the least DRAM traffic.",
        "<td>DRAM traffic</td><td class=\"n\">10.10 GB, 1.98× the least</td><td class=\"n\">5.20 GB",
        "Rung 0: 148 candidates entered",
        "21 rejected",
        r#"<span class="ts">evict_first</span>"#,
        r#"<span class="tf">program_id</span>"#,
        "kernelbrain optimize softmax.py --test test.py --device cuda --seed 7",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    let rows = |class| page.matches(&format!("<tr class=\"{class}\">")).count();
    assert_eq!((rows("added"), rows("removed"), rows("gap")), (2, 2, 2));
}

#[test]
fn a_withheld_survivor_and_the_winners_review_are_told_in_every_format() {
    let report = samples::reviewed();
    let page = html::render(&report).unwrap();
    let texts =
        [terminal::render(&report, PLAIN), markdown::render(&report).unwrap(), page.clone()];
    for text in texts {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for wanted in [
            "candidate 0b9e44d1 withheld by openai:second-opinion: original gaming (constant output)",
            "every element, which uniform inputs let pass.",
            "reviewed by openai:second-opinion: no issue",
            "Every row is read and summed.",
        ] {
            assert!(words.contains(wanted), "{wanted}: {words}");
        }
    }
    assert!(page.contains("<details class=\"notice\"><summary>candidate 0b9e44d1"));
    assert!(!html::render(&samples::improved()).unwrap().contains("<h2>Review"));
}

#[test]
fn the_interpreters_times_are_called_that_in_every_format() {
    let report = samples::no_improvement();
    let texts = [
        terminal::render(&report, PLAIN),
        markdown::render(&report).unwrap(),
        html::render(&report).unwrap(),
    ];
    for text in texts {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("Triton's interpreter") || words.contains("Triton&#39;s interpreter")
        );
        assert!(words.contains("compilation for a GPU was not checked"), "{words}");
        assert!(words.contains("No improvement: rmsnorm stays as it was"), "{words}");
    }
}

#[test]
fn files_are_whole_and_an_old_patch_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name| fs::read_to_string(folder.path().join(name));
    write(&samples::improved(), folder.path()).unwrap();
    assert_eq!(read(BEST).unwrap(), samples::after());
    assert!(
        read(PATCH).unwrap().starts_with("--- a/kernels/softmax.py\n+++ b/kernels/softmax.py\n")
    );

    write(&samples::no_improvement(), folder.path()).unwrap();
    assert_eq!(read(BEST).unwrap(), samples::BEFORE);
    assert!(read(PATCH).is_err());
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [BEST, HTML, JSON, MARKDOWN], "no temporary file stays");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let error = write(&samples::failed(), std::path::Path::new("/proc")).unwrap_err().to_string();
    assert!(error.contains("/proc/best.py") && error.contains("kernelbrain report"), "{error}");
}

#[test]
fn units_fit_the_number() {
    let times = [0.5, 7.0, 58.74, 999.4, 999.6, 1684.0, 2_500_000.0, f64::NAN].map(format::time);
    assert_eq!(
        times,
        ["500 ns", "7.00 µs", "58.7 µs", "999 µs", "1.00 ms", "1.68 ms", "2.50 s", "–"]
    );
    let ratios = [0.5, 0.9876, 1.0342, 1.816, 12.34, 250.0].map(format::times);
    assert_eq!(ratios, ["0.50×", "0.988×", "1.034×", "1.82×", "12.3×", "250×"]);
    let spans = [0.0, 0.08, 41.0, 192.0, 7500.0].map(format::seconds);
    assert_eq!(spans, ["0.00 s", "0.08 s", "41 s", "3 min 12 s", "2 h 5 min"]);
    assert_eq!(format::shorten("1234567890", 5), "1234…");
    assert_eq!(format::shorten("12345", 5), "12345");
}
