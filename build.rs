//! The harness is embedded as a folder; a file that is added there must lead to a new binary.

fn main() {
    println!("cargo::rerun-if-changed=src/evaluate/harness");
    println!("cargo::rerun-if-changed=migrations");
}
