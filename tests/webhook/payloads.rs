//! Every kind of delivery that GitHub sends to an App is taken and handled, whatever it is about.
//!
//! The payloads beside this file are made up. `WEBHOOK_PAYLOADS` names a folder of recorded ones
//! (`make test-contract`): files named `EVENT.ACTION….json`, in it and its subfolders.

use std::path::{Path, PathBuf};

use crate::service::Service;

const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/webhook/payloads");
const VARIABLE: &str = "WEBHOOK_PAYLOADS";

/// A payload and the event that its file is named after.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) name: String,
    pub(crate) event: String,
    pub(crate) body: Vec<u8>,
}

/// All that there are, in the order of their names.
pub(crate) fn all() -> Vec<Payload> {
    let folder = std::env::var_os(VARIABLE).map_or(OWN.into(), PathBuf::from);
    let mut found = Vec::new();
    gather(&folder, &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() >= 20, "{} payloads in {}: too few", found.len(), folder.display());
    found
}

fn gather(folder: &Path, found: &mut Vec<Payload>) {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}; {VARIABLE} names it", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            gather(&path, found);
        } else if path.extension().is_some_and(|it| it == "json") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let event = name.split('.').next().unwrap().to_owned();
            found.push(Payload { name, event, body: std::fs::read(&path).unwrap() });
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_payload_is_taken_and_handled() {
    let service = Service::start().await;
    let payloads = all();
    for payload in &payloads {
        let answer = service.deliver(&payload.event, &payload.name, &payload.body).await;
        assert_eq!(answer, (202, "kept\n".to_owned()), "{}", payload.name);
    }
    // None of their repositories is one that this GitHub has: there is nobody to answer.
    for payload in &payloads {
        assert_eq!(service.outcome(&payload.name).await, "done", "{}", payload.name);
    }
    assert_eq!(service.jobs().await, 0);
    service.github.finish();
    println!("handled: {} payloads", payloads.len());
}
