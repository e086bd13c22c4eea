//! No body and no comment is too strange to be read, and none makes the service act for a bot.

use kernelbrain::service::{
    command,
    event::{self, Event},
};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::{mutation::mutated, payloads};

/// Whether a person reading the payload would say that a bot sent it.
fn sent_by_a_bot(body: &[u8]) -> bool {
    let payload: Value = serde_json::from_slice(body).unwrap_or_default();
    let sender = &payload["sender"];
    let login = sender["login"].as_str().unwrap_or_default();
    sender["type"] == "Bot" || login.ends_with("[bot]")
}

/// Whether the event is somebody's wish.
fn is_a_wish(event: &Event) -> bool {
    matches!(event, Event::Labeled { .. } | Event::Commented { .. } | Event::CheckButton { .. })
}

#[test]
fn among_the_payloads_are_wishes_of_people() {
    let events = payloads().iter().map(|it| event::read(&it.event, &it.body).unwrap());
    assert!(events.filter(is_a_wish).count() >= 2, "else the properties below say nothing");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        // The failing case is printed whole.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_payload_gone_wrong_is_read_or_refused(seed: u64, which: prop::sample::Index) {
        let payload = which.get(payloads());
        let body = mutated(&payload.body, &mut ChaCha8Rng::seed_from_u64(seed));
        match event::read(&payload.event, &body) {
            Ok(event) => {
                prop_assert!(!(is_a_wish(&event) && sent_by_a_bot(&body)), "{event:?}");
                if let Event::Commented { body, .. } = &event {
                    let _ = command::parse(body);
                }
            }
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.contains("cannot be read"), "{text}");
                prop_assert!(text.chars().count() < 400, "no log is flooded: {text}");
            }
        }
    }

    #[test]
    fn whatever_a_payload_says_a_bots_wish_is_none(which: prop::sample::Index, by_type: bool) {
        let payload = which.get(payloads());
        let mut body: Value = serde_json::from_slice(&payload.body).unwrap();
        body["sender"]["login"] = if by_type { "helper" } else { "helper[bot]" }.into();
        body["sender"]["type"] = if by_type { "Bot" } else { "User" }.into();
        let event = event::read(&payload.event, body.to_string().as_bytes());
        prop_assert!(!event.as_ref().is_ok_and(is_a_wish), "{event:?}");
    }

    #[test]
    fn bytes_are_read_or_refused(event in "pull_request|issue_comment|check_run|installation|push",
                                 body: Vec<u8>) {
        let _ = event::read(&event, &body);
    }

    #[test]
    fn a_command_in_a_quote_or_in_code_is_none(
        lines in prop::collection::vec("/kernelbrain (optimize|cancel|commit)|[a-z ]{0,12}|[-#*>`~]{1,3} ?[a-z/]{0,5}", 1..8)
    ) {
        let quoted: String = lines.iter().map(|line| format!("> {line}\n")).collect();
        prop_assert_eq!(command::parse(&quoted), None);
        // A fence longer than any inside.
        let code = format!("`````\n{}\n`````\n", lines.join("\n"));
        prop_assert_eq!(command::parse(&code), None);
    }
}

fn payloads() -> &'static [payloads::Payload] {
    static PAYLOADS: std::sync::OnceLock<Vec<payloads::Payload>> = std::sync::OnceLock::new();
    PAYLOADS.get_or_init(payloads::all)
}
