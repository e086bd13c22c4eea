//! What tests of the GitHub client share: an App with a key of its own and a clock that does as told.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use kernelbrain::github::{AppCredentials, GitHub, WallClock};

pub const APP_ID: u64 = 4711;
pub const INSTALLATION: u64 = 55;
pub const REPOSITORY: u64 = 1296269;

/// Made for these tests: opens nothing.
pub const PRIVATE_KEY: &str = include_str!("app-key.pem");

/// Time passes only when somebody sleeps, or is told to pass.
#[derive(Clone)]
pub struct TestClock(Arc<Mutex<Told>>);

struct Told {
    now: SystemTime,
    slept: Vec<Duration>,
}

impl TestClock {
    pub fn new() -> Self {
        let now = SystemTime::now();
        Self(Arc::new(Mutex::new(Told { now, slept: Vec::new() })))
    }

    pub fn pass(&self, time: Duration) {
        self.0.lock().unwrap().now += time;
    }

    pub fn slept(&self) -> Vec<Duration> {
        self.0.lock().unwrap().slept.clone()
    }
}

#[async_trait]
impl WallClock for TestClock {
    fn now(&self) -> SystemTime {
        self.0.lock().unwrap().now
    }

    async fn sleep(&self, duration: Duration) {
        {
            let mut told = self.0.lock().unwrap();
            told.now += duration;
            told.slept.push(duration);
        }
        tokio::task::yield_now().await;
    }
}

pub fn credentials() -> AppCredentials {
    AppCredentials { app_id: APP_ID, private_key: PRIVATE_KEY.into() }
}

pub fn github_at(api: &str, clock: &TestClock) -> GitHub {
    GitHub::new(api, credentials(), Arc::new(clock.clone())).unwrap()
}
