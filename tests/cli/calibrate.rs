//! `kernelbrain calibrate` where there is no GPU, and the rules that end a search early.

use crate::support::Desk;

#[test]
fn the_cpu_device_has_nothing_to_calibrate() {
    let desk = Desk::tiny();
    let ran = desk.run(desk.kernelbrain(&["calibrate", "--device", "cpu"]));
    ran.exits_with(0).says("there is nothing to calibrate");
    let ran = desk.run(desk.kernelbrain(&["calibrate", "--device", "cpu", "--json"]));
    let told: serde_json::Value = serde_json::from_str(&ran.exits_with(0).stdout).unwrap();
    assert!(told["ceilings"].is_null() && told["notes"].is_array(), "{told}");
}

#[test]
fn a_gpu_that_is_not_there_is_asked_for_in_vain() {
    let desk = Desk::tiny();
    let mut command = desk.kernelbrain(&["calibrate", "--device", "cuda:0"]);
    command.env("CUDA_VISIBLE_DEVICES", "");
    desk.run(command).exits_with(3).says("no GPU can be used");
}

#[test]
fn stop_rules_that_cannot_be_kept_are_refused() {
    let desk = Desk::tiny();
    for (rule, complaint) in [
        (["--headroom-stop", "0.9"], "a number of 1 or more, or off"),
        (["--headroom-stop", "NaN"], "a number of 1 or more, or off"),
        (["--headroom-stop", "soon"], "expected a number, or off"),
        (["--patience", "0"], "must be at least 1, or off"),
    ] {
        desk.run(desk.optimize(&rule)).exits_with(2).says(complaint);
    }
}
