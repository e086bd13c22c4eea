use super::*;

const BASE: &str = r#"
[[kernel]]
name = "softmax"
source = "ops/softmax.py"
entry = "ops.softmax:softmax"
test = "contracts/softmax.py"
depends = ["ops/launch.py", "./ops/common/"]

[[kernel]]
name = "rms_norm"
source = "ops/rms_norm.py"
entry = "ops.rms_norm:rms_norm"
test = "contracts/rms_norm.py"
"#;

fn change(touched: &[&str]) -> Change {
    Change {
        base_configuration: Some(BASE.into()),
        head_configuration: Some(BASE.into()),
        touched: touched.iter().map(|&path| path.into()).collect(),
        sources: Vec::new(),
    }
}

fn names(change: &Change, named: &[&str]) -> Vec<String> {
    let named: Vec<String> = named.iter().map(|&name| name.into()).collect();
    choose(change, &named).unwrap().into_iter().map(|kernel| kernel.name).collect()
}

fn refusal(change: &Change, named: &[&str]) -> String {
    let named: Vec<String> = named.iter().map(|&name| name.into()).collect();
    choose(change, &named).unwrap_err().to_string()
}

#[test]
fn what_the_diff_touches_is_searched() {
    assert_eq!(names(&change(&["ops/softmax.py", "README.md"]), &[]), ["softmax"]);
    assert_eq!(names(&change(&["ops/launch.py"]), &[]), ["softmax"], "it depends on it");
    assert_eq!(names(&change(&["ops/common/math.py"]), &[]), ["softmax"], "and on that folder");
    let both = change(&["ops/rms_norm.py", "ops/softmax.py"]);
    assert_eq!(names(&both, &[]), ["softmax", "rms_norm"], "in the order of the configuration");
    let text = refusal(&change(&["ops/softmax.pyi", "ops/commoner.py"]), &[]);
    assert!(text.contains("touches none") && text.contains("softmax, rms_norm"), "{text}");
}

#[test]
fn what_is_named_is_searched_whatever_the_diff_touches() {
    assert_eq!(names(&change(&["README.md"]), &["rms_norm"]), ["rms_norm"]);
    let text = refusal(&change(&[]), &["rmsnorm"]);
    assert!(text.contains("did you mean \"rms_norm\"?"), "{text}");
    assert!(!refusal(&change(&[]), &["entirely_else"]).contains("did you mean"));
}

#[test]
fn only_kernels_that_the_pull_request_adds_are_configured_by_its_head() {
    // It also points softmax to a contract of its own, which does not count.
    let head = BASE.replace("contracts/softmax.py", "contracts/easy.py")
        + r#"
[[kernel]]
name = "gelu"
source = "ops/gelu.py"
entry = "ops.gelu:gelu"
test = "contracts/gelu.py"
"#;
    let change = Change {
        head_configuration: Some(head),
        ..change(&["kernelbrain.toml", "ops/gelu.py", "ops/softmax.py"])
    };
    let chosen = choose(&change, &[]).unwrap();
    let sides: Vec<_> =
        chosen.iter().map(|kernel| (kernel.name.as_str(), kernel.configured_by)).collect();
    assert_eq!(sides, [("softmax", Side::Base), ("gelu", Side::Head)]);
    assert!(chosen[0].notes.is_empty());
    assert!(chosen[1].notes[0].contains("adds the kernel"), "{:?}", chosen[1].notes);
}

#[test]
fn a_contract_that_the_pull_request_changes_is_told() {
    let chosen = choose(&change(&["ops/softmax.py", "contracts/softmax.py"]), &[]).unwrap();
    assert!(chosen[0].notes[0].contains("changes the contract"), "{:?}", chosen[0].notes);
}

#[test]
fn a_configuration_that_cannot_be_read_is_named_with_its_line() {
    let broken = Some("[[kernel]]\nnaem = \"softmax\"\n".to_owned());
    let base = Change { base_configuration: broken.clone(), ..change(&["ops/softmax.py"]) };
    let text = refusal(&base, &[]);
    assert!(text.contains("base branch") && text.contains("line 2"), "{text}");
    // One that the pull request breaks does not stop what the base branch lists.
    let head = Change { head_configuration: broken, ..change(&["ops/softmax.py"]) };
    assert_eq!(names(&head, &[]), ["softmax"]);
}

#[test]
fn without_a_configuration_the_kernels_of_the_diff_are_found() {
    let kernel = "import triton\n\n@triton.jit\ndef _k(x):\n    pass\n";
    let change = Change {
        sources: vec![
            ("ops/k.py".into(), kernel.into()),
            ("ops/plain.py".into(), "x = 1\n".into()),
            ("ops/broken.py".into(), "def (".into()),
        ],
        ..Change::default()
    };
    let NoTarget::NotConfigured { found } = choose(&change, &[]).unwrap_err() else { panic!() };
    let kernels = vec!["_k".to_owned()];
    assert_eq!(found, [FoundKernel { source: "ops/k.py".into(), kernels }]);
}
