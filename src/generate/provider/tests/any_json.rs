//! Servers may send any JSON whatsoever.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    anthropic::Anthropic,
    openai::OpenAi,
    servers::{DIALECTS, Dialect},
    *,
};

static ANTHROPIC: LazyLock<Anthropic> =
    LazyLock::new(|| Anthropic::new("m", &nowhere(), None, "KEY", &limits()).unwrap());
static OPENAI: LazyLock<OpenAi> =
    LazyLock::new(|| OpenAi::new("m", &nowhere(), None, "KEY", &limits()).unwrap());

fn nowhere() -> reqwest::Url {
    reqwest::Url::parse("http://127.0.0.1:1").unwrap()
}

/// What the provider of that language makes of a body.
fn reply(dialect: Dialect, body: &Value) -> Option<Answer> {
    let reply = match dialect {
        Dialect::Anthropic => ANTHROPIC.reply(&question(), body),
        Dialect::OpenAi => OPENAI.reply(&question(), body),
    };
    reply.ok().map(|reply| match reply {
        Reply::Answer(answer) => answer,
        Reply::Awaited => panic!("a server does not let us wait"),
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["text", "refusal", "error", "stop", "max_tokens", "length"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let names =
            prop::sample::select(vec!["type", "text", "content", "message", "error", "code"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..4).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::from(fields.collect::<Map<_, _>>())
            }),
        ]
    })
}

/// Every place in a value.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            places(value, format!("{at}/{name}"), found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            places(value, format!("{at}/{index}"), found);
        }),
        _ => {}
    }
    found.push(at);
}

proptest! {
    /// With anything in any place of a good answer there is either an answer or a fault.
    #[test]
    fn an_answer_with_anything_in_it_is_an_answer_or_a_fault(
        place in any::<prop::sample::Index>(),
        anything in any_json(),
    ) {
        for dialect in DIALECTS {
            let mut body = dialect.answer("Done.");
            let mut all = Vec::new();
            places(&body, String::new(), &mut all);
            *body.pointer_mut(&all[place.index(all.len())]).unwrap() = anything.clone();
            if let Some(answer) = reply(dialect, &body) {
                prop_assert!(!answer.text.trim().is_empty() || !answer.stop.promises_text());
                prop_assert!(answer.usage.cached_input <= answer.usage.input);
                prop_assert!(answer.usage.output < 1_000_000 && answer.usage.input < 1_000_000);
            }
        }
    }
}

/// Some servers send the text in parts, as they take it.
#[test]
fn parts_of_a_text_are_put_together() {
    let parts = json!([
        {"type": "text", "text": "Do"}, {"type": "image"}, {"type": "text", "text": "ne."},
    ]);
    let pointer = ["/content", "/choices/0/message/content"];
    for dialect in DIALECTS {
        let body = dialect.answer_with("", pointer, parts.clone());
        assert_eq!(reply(dialect, &body).unwrap().text, "Done.");
    }
}
