//! What servers write when there is no answer, in the forms in use.

use serde_json::Value;

/// An error as a server describes it.
#[derive(Debug, PartialEq)]
pub(super) struct ServerError {
    /// Its name, for example `overloaded_error` or `insufficient_quota`.
    pub(super) kind: Option<String>,
    /// The status that it means, where it says so itself.
    pub(super) code: Option<u16>,
    pub(super) message: String,
}

/// What an error means for the one who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Key,
    Credit,
    NotFound,
    /// It may pass.
    Unavailable,
    Other,
}

impl ServerError {
    /// The error in the body of a response that has an error's status.
    pub(super) fn read(body: &str) -> Self {
        let value = serde_json::from_str::<Value>(body).unwrap_or_default();
        Self::within(&value).or_else(|| Self::plain(&value)).unwrap_or_else(|| Self {
            kind: None,
            code: None,
            message: body.to_owned(),
        })
    }

    /// The error in a body that may as well be an answer.
    ///
    /// Anthropic: `{"type": "error", "error": {"type", "message"}}`. OpenAI: `{"error": {"message",
    /// "type", "code"}}`. OpenRouter: the same with a status as the code. Ollama: `{"error":
    /// "text"}`. vLLM: `{"object": "error", "message", "type", "code"}`.
    pub(super) fn within(value: &Value) -> Option<Self> {
        match value.get("error") {
            Some(Value::String(message)) => {
                Some(Self { kind: None, code: None, message: message.clone() })
            }
            Some(error @ Value::Object(_)) => Some(Self::described(error)),
            _ if value.get("object").and_then(Value::as_str) == Some("error") => {
                Some(Self::described(value))
            }
            _ => None,
        }
    }

    /// Gateways: `{"message"}` or, those written with FastAPI, `{"detail"}`.
    fn plain(value: &Value) -> Option<Self> {
        let message = ["message", "detail"].iter().find_map(|name| value.get(name)?.as_str())?;
        Some(Self { kind: None, code: None, message: message.to_owned() })
    }

    fn described(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let code = error.get("code").and_then(Value::as_u64);
        Self {
            // OpenAI's codes say more than its types.
            kind: text("code").or_else(|| text("type")),
            code: code.and_then(|code| u16::try_from(code).ok()),
            message: text("message").unwrap_or_else(|| error.to_string()),
        }
    }

    /// What it means, in a response with this status.
    pub(super) fn class(&self, status: u16) -> Class {
        match self.kind.as_deref() {
            // OpenAI sends it with 429, but it does not pass.
            Some("insufficient_quota" | "billing_error") => return Class::Credit,
            Some("overloaded_error" | "rate_limit_error" | "api_error" | "timeout_error")
                if status == 200 =>
            {
                return Class::Unavailable;
            }
            Some("authentication_error" | "permission_error" | "invalid_api_key") => {
                return Class::Key;
            }
            Some("not_found_error" | "model_not_found") => return Class::NotFound,
            _ => {}
        }
        // A body that contradicts a status of 200 is believed.
        match if status == 200 { self.code.unwrap_or(status) } else { status } {
            401 | 403 => Class::Key,
            402 => Class::Credit,
            404 => Class::NotFound,
            429 | 500..=599 => Class::Unavailable,
            _ => Class::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(status: u16, body: &str) -> Class {
        ServerError::read(body).class(status)
    }

    #[test]
    fn every_servers_way_of_refusing_is_understood() {
        let overloaded =
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        assert_eq!(class(529, overloaded), Class::Unavailable);
        assert_eq!(class(200, overloaded), Class::Unavailable);
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(class(429, quota), Class::Credit);
        let limit = r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
        assert_eq!(class(429, limit), Class::Unavailable);
        assert_eq!(class(200, r#"{"error":{"message":"No credits","code":402}}"#), Class::Credit);
        assert_eq!(class(200, r#"{"error":{"message":"Busy","code":503}}"#), Class::Unavailable);
        assert_eq!(
            class(404, r#"{"error":"model \"x\" not found, try pulling it first"}"#),
            Class::NotFound
        );
        let vllm = r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#;
        assert_eq!(class(200, vllm), Class::NotFound);
        assert_eq!(class(401, r#"{"detail":"Not authenticated"}"#), Class::Key);
        assert_eq!(
            class(400, r#"{"error":{"type":"invalid_request_error","message":"no"}}"#),
            Class::Other
        );
        assert_eq!(class(502, "<html>Bad gateway</html>"), Class::Unavailable);
    }

    #[test]
    fn an_answer_is_no_error() {
        assert_eq!(ServerError::within(&serde_json::json!({"choices": [], "error": null})), None);
        assert_eq!(ServerError::read("").message, "");
    }
}
