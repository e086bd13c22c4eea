//! Keeps a provider within its limits: so many calls at once, and failures that may pass repeated.

use std::time::Duration;

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use tokio::sync::Semaphore;

use super::{Limits, Provider, ProviderError, Reply};
use crate::generate::conversation::Conversation;

/// A provider that is called no oftener than allowed, and again when that helps.
#[derive(Debug)]
pub(super) struct Limited<P> {
    inner: P,
    limits: Limits,
    calls: Semaphore,
}

impl<P: Provider> Limited<P> {
    pub(super) fn new(inner: P, limits: Limits) -> Self {
        let calls = Semaphore::new(limits.concurrency.get().min(Semaphore::MAX_PERMITS));
        Self { inner, limits, calls }
    }

    fn backoff(&self) -> ExponentialBuilder {
        ExponentialBuilder::default()
            .with_min_delay(self.limits.first_wait)
            .with_max_delay(self.limits.longest_wait)
            .with_max_times(usize::try_from(self.limits.retries).unwrap_or(usize::MAX))
            .with_jitter()
    }
}

#[async_trait]
impl<P: Provider> Provider for Limited<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn ask(&self, conversation: &Conversation) -> Result<Reply, ProviderError> {
        // Held while waiting to repeat, too: a server that is overloaded gets fewer calls, not
        // others instead. The semaphore is never closed.
        let _call = self.calls.acquire().await.ok();
        let mut attempts = 0;
        let call = || {
            attempts += 1;
            self.inner.ask(conversation)
        };
        let reply = call
            .retry(self.backoff())
            .sleep(tokio::time::sleep)
            .when(|error: &ProviderError| error.fault.is_transient())
            .adjust(|error: &ProviderError, wait| {
                pause(wait?, error.fault.retry_after(), self.limits.longest_wait)
            })
            .notify(|error: &ProviderError, wait| {
                tracing::warn!(%error, ?wait, "asking the model again");
            })
            .await;
        reply.map_err(|error| ProviderError { attempts, ..error })
    }
}

/// How long to wait before a call is repeated; `None` if the server asks for more patience than
/// there is.
fn pause(wait: Duration, asked: Option<Duration>, longest: Duration) -> Option<Duration> {
    match asked {
        None => Some(wait),
        Some(asked) => (asked <= longest).then(|| asked.max(wait)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_the_time_it_asks_for_and_no_more_than_there_is() {
        let seconds = Duration::from_secs;
        assert_eq!(pause(seconds(2), None, seconds(60)), Some(seconds(2)));
        assert_eq!(pause(seconds(2), Some(seconds(30)), seconds(60)), Some(seconds(30)));
        assert_eq!(pause(seconds(2), Some(seconds(0)), seconds(60)), Some(seconds(2)));
        assert_eq!(pause(seconds(2), Some(seconds(3600)), seconds(60)), None);
    }
}
