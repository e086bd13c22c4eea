//! Servers on this machine: two that speak a provider's language, and some that speak none.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use wiremock::{
    Mock, MockServer, Request, Respond, ResponseTemplate,
    matchers::{header, method, path},
};

use super::{KEY, Limits, Provider, open};

/// The language of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dialect {
    Anthropic,
    OpenAi,
}

pub(super) const DIALECTS: [Dialect; 2] = [Dialect::Anthropic, Dialect::OpenAi];

impl Dialect {
    /// A provider that asks the server at `base`, `http://host:port`.
    pub(super) fn provider(self, base: &str, limits: &Limits) -> Box<dyn Provider> {
        match self {
            Self::Anthropic => open(&format!("anthropic:claude-test@{base}"), limits),
            Self::OpenAi => open(&format!("openai:gpt-test@{base}/v1"), limits),
        }
    }

    /// An answer as the real server writes it: 40 tokens in, of which 30 cached, 7 out.
    pub(super) fn answer(self, text: &str) -> Value {
        match self {
            Self::Anthropic => json!({
                "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-test",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": text},
                ],
                "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {
                    "input_tokens": 6, "cache_creation_input_tokens": 4,
                    "cache_read_input_tokens": 30, "output_tokens": 7,
                },
            }),
            Self::OpenAi => json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-test",
                "choices": [{
                    "index": 0, "logprobs": null, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text, "refusal": null},
                }],
                "usage": {
                    "prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47,
                    "prompt_tokens_details": {"cached_tokens": 30},
                },
            }),
        }
    }

    /// The answer with `value` where the server says why it ended, or how much it counted.
    pub(super) fn answer_with(self, text: &str, pointer: [&str; 2], value: Value) -> Value {
        let mut answer = self.answer(text);
        let [anthropic, openai] = pointer;
        let pointer = if self == Self::Anthropic { anthropic } else { openai };
        *answer.pointer_mut(pointer).unwrap() = value;
        answer
    }

    pub(super) fn error(self, kind: &str, message: &str) -> Value {
        match self {
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Self::OpenAi => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
        }
    }
}

pub(super) fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// A server that speaks `dialect` to those who have the key and ask at the right address, and
/// gives `responses` one after the other, the last one for ever.
pub(super) async fn server(dialect: Dialect, responses: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let mock = match dialect {
        Dialect::Anthropic => Mock::given(path("/v1/messages"))
            .and(header("x-api-key", KEY))
            .and(header("anthropic-version", "2023-06-01")),
        Dialect::OpenAi => Mock::given(path("/v1/chat/completions"))
            .and(header("authorization", format!("Bearer {KEY}").as_str())),
    };
    mock.and(method("POST")).respond_with(InTurn::new(responses)).mount(&server).await;
    server
}

struct InTurn(std::sync::Mutex<Vec<ResponseTemplate>>);

impl InTurn {
    fn new(mut responses: Vec<ResponseTemplate>) -> Self {
        responses.reverse();
        Self(responses.into())
    }
}

impl Respond for InTurn {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let mut left = self.0.lock().unwrap();
        if left.len() > 1 { left.pop().unwrap() } else { left[0].clone() }
    }
}

/// What a server was asked.
pub(super) async fn requests(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    requests.iter().map(|request| request.body_json().unwrap()).collect()
}

/// What a server that knows no HTTP does after the first bytes of a request.
#[derive(Clone, Copy)]
pub(super) enum Rude {
    /// Sends a body without an end.
    Endless,
    /// Sends nothing.
    Silent,
    /// Sends part of a body, then nothing.
    Stalls,
    /// Sends part of a body and hangs up.
    HangsUp,
}

/// Its address, as a base URL.
pub(super) async fn rude(behaviour: Rude) -> String {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(behave(stream, behaviour));
        }
    });
    base
}

async fn behave(mut stream: TcpStream, behaviour: Rude) {
    let mut request = [0; 64 * 1024];
    let read = stream.read(&mut request).await.unwrap();
    assert!(read > 0, "a request was to come");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let (length, part) = ("content-length: 1000\r\n\r\n", "{\"content\": [");
    match behaviour {
        Rude::Silent => std::future::pending().await,
        Rude::Stalls => {
            stream.write_all(format!("{head}{length}{part}").as_bytes()).await.unwrap();
            std::future::pending().await
        }
        Rude::HangsUp => {
            stream.write_all(format!("{head}{length}{part}").as_bytes()).await.unwrap();
        }
        Rude::Endless => {
            stream.write_all(format!("{head}\r\n[").as_bytes()).await.unwrap();
            // Until the other side has had enough.
            while stream.write_all(&[b' '; 4096]).await.is_ok() {}
        }
    }
}
