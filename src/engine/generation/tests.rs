//! Exchanges with whoever answers, over a real database.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use async_trait::async_trait;

use super::{
    exchange::{Exchange, Said},
    exchanges,
    interview::{House, Step, Subject},
    purse::Purse,
    tariff::Tariff,
};
use crate::{
    generate::{
        conversation::{Conversation, Usage},
        prompt::Prompter,
        provider::{
            self, Answer, Counted, Provider, ProviderError, Reply, Stop,
            price::{Price, estimate_prompt},
        },
        recipe::{Context, DeviceKind},
    },
    kernel::{CandidateId, Entry, RequestKind, Spend, Target},
    search::Limits,
    store::{ExchangeKey, NewRun, RunStore, SqliteStore},
};

const KERNEL: &str = "\
import torch
import triton
import triton.language as tl


@triton.jit
def _double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def kernel_function(x):
    y = torch.empty_like(x)
    _double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
";
const WIDER: &str =
    "Wider tiles.\n\n```recipe\ntile BLOCK=256\n```\n\n```prediction\nduration down 2x\n```";
const CHAT: &str = "It looks fine to me as it is.";

/// Says one thing after the other; with nothing left to say, the answer is awaited.
#[derive(Debug, Default)]
struct Scripted {
    lines: Mutex<VecDeque<String>>,
    heard: Mutex<Vec<Conversation>>,
}

#[async_trait]
impl Provider for Arc<Scripted> {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "test"
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        self.heard.lock().unwrap().push(conversation.clone());
        let Some(text) = self.lines.lock().unwrap().pop_front() else { return Ok(Reply::Awaited) };
        let usage = Usage { input: 1000, cached_input: 0, output: 100 };
        Ok(Reply::Answer(Answer {
            text,
            usage,
            counted: Counted::ByProvider,
            stop: Stop::Finished,
        }))
    }
}

struct Desk {
    house: House,
    store: SqliteStore,
    provider: Arc<Scripted>,
    _folder: tempfile::TempDir,
}

const RUN: &str = "20261130-000000-double-0001";

impl Desk {
    async fn with(lines: &[&str], limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("runs.db")).await.unwrap();
        let target = Target {
            name: "double".into(),
            source: PathBuf::from("double.py"),
            text: KERNEL.into(),
            entry: Entry { module: None, function: None },
            contract: PathBuf::from("test.py"),
            editable: None,
            package: None,
            rules: Vec::new(),
            tests: None,
            archs: Vec::new(),
        };
        let run = NewRun {
            id: RUN.into(),
            key: "k".into(),
            output: folder.path().to_owned(),
            target,
            plan: serde_json::Value::Null,
            created: SystemTime::now(),
        };
        store.create_run(&run).await.unwrap();
        let provider = Arc::new(Scripted::default());
        provider.lines.lock().unwrap().extend(lines.iter().map(ToString::to_string));
        let price = Price { input: 1.0, cached_input: None, output: 10.0 };
        let terms = provider::Limits { output_tokens: 500, ..provider::Limits::default() };
        let house = House {
            provider: Some(Box::new(Arc::clone(&provider))),
            prompter: Prompter::new().unwrap(),
            store: Arc::new(store.clone()),
            run: RUN.into(),
            purse: Purse::new(limits, Spend::default()),
            tariff: Tariff::new(Some(price), terms),
            finishing: false,
            repairs: 4,
            file: "double.py".into(),
            context: Context::new(DeviceKind::Cuda),
        };
        Self { house, store, provider, _folder: folder }
    }

    async fn ask(&self) -> Step {
        let question = Conversation::new("You write kernels.", "Make it faster.");
        self.go_on(Exchange { key: key(), said: Said::asking("retile".into(), question) }).await
    }

    async fn go_on(&self, exchange: Exchange) -> Step {
        let subject = Subject { source: KERNEL.into(), exemplar: None };
        self.house.interview(exchange, &subject).await
    }

    async fn kept(&self) -> Exchange {
        let kept = exchanges(&self.store, RUN).await.unwrap();
        assert_eq!(kept.len(), 1, "one row a request");
        kept.into_iter().next().unwrap()
    }

    fn heard(&self) -> Vec<Conversation> {
        self.provider.heard.lock().unwrap().clone()
    }
}

fn key() -> ExchangeKey {
    ExchangeKey { parent: CandidateId::of(KERNEL), rung: None, kind: RequestKind::Rewrite(0) }
}

fn over(step: Step) -> Exchange {
    match step {
        Step::Over(exchange) => exchange,
        Step::Awaited(exchange) => panic!("awaited: {exchange:?}"),
    }
}

#[tokio::test]
async fn an_answer_becomes_a_candidate_and_is_kept_with_what_it_cost() {
    let desk = Desk::with(&[WIDER], Limits::default()).await;
    let exchange = over(desk.ask().await);
    let rewritten = exchange.rewritten().unwrap();
    assert!(rewritten.source.contains("BLOCK=256"), "{}", rewritten.source);
    assert_eq!(rewritten.prediction.unwrap().to_string(), "duration down 50%");
    assert_eq!(exchange.said.spent.tokens, 1100);
    assert!((exchange.said.spent.usd - 0.002).abs() < 1e-9);
    assert_eq!(desk.kept().await, exchange);
}

#[tokio::test]
async fn what_cannot_be_read_goes_back_with_the_reason_until_it_can() {
    let desk = Desk::with(&[CHAT, "", WIDER], Limits::default()).await;
    let exchange = over(desk.ask().await);
    assert!(exchange.rewritten().is_some());
    assert_eq!((exchange.said.repairs, exchange.said.spent.tokens), (2, 3300));
    let heard = desk.heard();
    assert_eq!(heard.iter().map(|it| it.messages.len()).collect::<Vec<_>>(), [1, 3, 5]);
    let last = &heard[2].messages;
    assert!(
        last[1].text.contains(CHAT) && last[2].text.contains("Use one of the three forms"),
        "{last:#?}"
    );
    assert_eq!(last[3].text, "(an empty answer)", "providers refuse an empty turn");
}

#[tokio::test]
async fn it_is_sent_back_a_limited_number_of_times() {
    let chats: Vec<String> = (0..9).map(|n| format!("{CHAT} {n}")).collect();
    let chats: Vec<&str> = chats.iter().map(String::as_str).collect();
    let desk = Desk::with(&chats, Limits::default()).await;
    let exchange = over(desk.ask().await);
    let reason = exchange.said.result.unwrap().unwrap_err();
    assert!(reason.starts_with("sent back 4 times; last: Your answer has neither"), "{reason}");
    assert_eq!(desk.heard().len(), 5);
}

#[tokio::test]
async fn who_says_the_same_twice_is_not_asked_a_third_time() {
    let desk = Desk::with(&[CHAT, CHAT, WIDER], Limits::default()).await;
    let exchange = over(desk.ask().await);
    let reason = exchange.said.result.unwrap().unwrap_err();
    assert!(reason.starts_with("the same answer again; "), "{reason}");
}

#[tokio::test]
async fn a_budget_may_end_in_the_middle_of_a_conversation() {
    // A question can cost its prompt and 500 tokens; an answer does cost 1100.
    let first = estimate_prompt(&Conversation::new("You write kernels.", "Make it faster."));
    let limits = Limits { tokens: Some(3100 + first), ..Limits::default() };
    let desk = Desk::with(&[CHAT, "Really.", "It is.", WIDER], limits).await;
    let exchange = over(desk.ask().await);
    let reason = exchange.said.result.unwrap().unwrap_err();
    assert!(reason.ends_with("the budget of tokens does not allow another question"), "{reason}");
    assert!(exchange.said.spent.tokens <= 3300, "{:?}", exchange.said.spent);
    assert!(desk.heard().len() < 4);
}

#[tokio::test]
async fn the_same_question_is_asked_again_until_somebody_has_answered() {
    let desk = Desk::with(&[], Limits::default()).await;
    let Step::Awaited(_) = desk.ask().await else { panic!("there is nobody") };
    let kept = desk.kept().await;
    assert_eq!(kept.said.result, None);
    desk.provider.lines.lock().unwrap().push_back(WIDER.into());
    let exchange = over(desk.go_on(kept).await);
    assert!(exchange.rewritten().is_some());
    let heard = desk.heard();
    assert_eq!(heard[0].id(), heard[1].id());
    // What is over is not asked again.
    let again = over(desk.go_on(desk.kept().await).await);
    assert_eq!((again.said.result, desk.heard().len()), (exchange.said.result, 2));
}

#[tokio::test]
async fn a_question_that_is_repeated_is_no_answer() {
    let question =
        Conversation::new("You write kernels.", "Make it faster.\n```recipe\nwarps 8\n```");
    let echo = format!("{}\n\n{WIDER}", question.to_markdown());
    let desk = Desk::with(&[&question.to_markdown(), &echo], Limits::default()).await;
    let said = Said::asking("retile".into(), question);
    let exchange = over(desk.go_on(Exchange { key: key(), said }).await);
    assert_eq!(exchange.said.repairs, 1, "the echo alone is empty");
    assert!(exchange.rewritten().unwrap().source.contains("BLOCK=256"));
}
