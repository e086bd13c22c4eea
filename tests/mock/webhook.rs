//! Deliveries: signed, in order, and as unreliable as a test wants them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use sha2::Sha256;

use super::Inner;
use super::payload::time;

/// How long GitHub waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Delivery {
    pub id: u64,
    pub guid: String,
    pub event: String,
    pub action: Option<String>,
    pub repository: Option<u64>,
    pub installation: u64,
    pub body: String,
    pub headers: Vec<(&'static str, String)>,
    pub redelivery: bool,
    /// The attempt: when it was, what came back (0: nothing), how long that took.
    pub tried: Option<Attempt>,
}

#[derive(Debug, Clone)]
pub struct Attempt {
    pub at: u64,
    pub status: u16,
    pub said: String,
    pub seconds: f64,
}

#[derive(Debug)]
pub struct Hooks {
    pub secret: String,
    pub target: Option<String>,
    pub all: Vec<Delivery>,
    pending: VecDeque<u64>,
    in_flight: bool,
    pub held: bool,
    pub lose: usize,
    pub duplicate: usize,
    /// Deliveries that came twice so far.
    pub doubled: usize,
    pub reorder: Option<ChaCha8Rng>,
    /// Seeded trouble for every delivery: chance to be lost, chance to come twice.
    pub chaos: Option<(ChaCha8Rng, f64, f64)>,
}

impl Hooks {
    pub fn new() -> Self {
        Self {
            secret: "It's a Secret to Everybody".into(),
            target: None,
            all: Vec::new(),
            pending: VecDeque::new(),
            in_flight: false,
            held: false,
            lose: 0,
            duplicate: 0,
            doubled: 0,
            reorder: None,
            chaos: None,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what makes a delivery")]
    pub fn queue(
        &mut self,
        id: u64,
        app: u64,
        event: &str,
        action: Option<&str>,
        repository: Option<u64>,
        installation: u64,
        body: String,
    ) {
        let guid = format!("{:08x}-7a3e-11ef-9c1d-{id:012x}", self.all.len());
        let headers = vec![
            ("accept", "*/*".into()),
            ("content-type", "application/json".into()),
            ("user-agent", "GitHub-Hookshot/044aadd".into()),
            ("x-github-event", event.to_owned()),
            ("x-github-delivery", guid.clone()),
            ("x-github-hook-id", "292430182".into()),
            ("x-github-hook-installation-target-id", app.to_string()),
            ("x-github-hook-installation-target-type", "integration".into()),
            ("x-hub-signature-256", sign(&self.secret, &body)),
        ];
        self.all.push(Delivery {
            id,
            guid,
            event: event.to_owned(),
            action: action.map(str::to_owned),
            repository,
            installation,
            body,
            headers,
            redelivery: false,
            tried: None,
        });
        self.pending.push_back(id);
    }

    /// Queues the same delivery once more: a new id, the same GUID and body.
    pub fn redeliver(&mut self, delivery: u64, id: u64) -> bool {
        let Some(old) = self.all.iter().find(|one| one.id == delivery) else { return false };
        let again = Delivery { id, redelivery: true, tried: None, ..old.clone() };
        self.all.push(again);
        self.pending.push_back(id);
        true
    }

    pub fn idle(&self) -> bool {
        self.pending.is_empty() && !self.in_flight
    }

    /// Takes everything that waits, for a test that carries it by hand.
    pub fn take(&mut self, now: u64) -> Vec<Delivery> {
        let ids: Vec<u64> = self.pending.drain(..).collect();
        let mut taken = Vec::new();
        for delivery in self.all.iter_mut().filter(|one| ids.contains(&one.id)) {
            delivery.tried =
                Some(Attempt { at: now, status: 202, said: "OK".into(), seconds: 0.0 });
            taken.push(delivery.clone());
        }
        taken
    }

    fn next(&mut self) -> Option<(String, Delivery, Fate)> {
        let target = self.target.clone().filter(|_| !self.held)?;
        let at = match &mut self.reorder {
            Some(random) if !self.pending.is_empty() => random.random_range(0..self.pending.len()),
            _ => 0,
        };
        let id = self.pending.remove(at)?;
        let (mut lost, mut twice) = (take_one(&mut self.lose), false);
        if !lost {
            twice = take_one(&mut self.duplicate);
        }
        if let Some((random, lose, duplicate)) = &mut self.chaos {
            lost |= random.random_bool(*lose);
            twice |= random.random_bool(*duplicate);
        }
        self.in_flight = true;
        self.doubled += usize::from(twice && !lost);
        let fate = if lost { Fate::Lost } else { Fate::Sent { twice } };
        Some((target, self.all.iter().find(|one| one.id == id).unwrap().clone(), fate))
    }

    fn done(&mut self, id: u64, attempt: Attempt) {
        self.in_flight = false;
        if let Some(delivery) = self.all.iter_mut().find(|one| one.id == id) {
            delivery.tried = Some(attempt);
        }
    }
}

enum Fate {
    Lost,
    Sent { twice: bool },
}

fn take_one(left: &mut usize) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

pub fn seeded(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let hex: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

impl Delivery {
    /// As `GET /app/hook/deliveries` lists it.
    pub fn summary(&self) -> Option<Value> {
        let tried = self.tried.as_ref()?;
        Some(json!({
            "id": self.id, "guid": self.guid, "delivered_at": time(tried.at),
            "redelivery": self.redelivery, "duration": tried.seconds, "status": tried.said,
            "status_code": tried.status, "event": self.event, "action": self.action,
            "installation_id": self.installation, "repository_id": self.repository,
            "throttled_at": null,
        }))
    }
}

/// Sends what is queued, one at a time, for as long as this GitHub lives.
pub async fn deliver(inner: Arc<Inner>) {
    let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build().unwrap();
    loop {
        let next = inner.world().hooks.next();
        let Some((target, delivery, fate)) = next else {
            inner.wake.notified().await;
            continue;
        };
        let started = Instant::now();
        let (status, said) = match fate {
            // The connection went down somewhere between.
            Fate::Lost => (502, "failed to connect to host".to_owned()),
            Fate::Sent { twice } => {
                let first = post(&client, &target, &delivery).await;
                if twice {
                    post(&client, &target, &delivery).await;
                }
                first
            }
        };
        let mut world = inner.world();
        let at = world.now();
        let seconds = started.elapsed().as_secs_f64();
        world.hooks.done(delivery.id, Attempt { at, status, said, seconds });
    }
}

async fn post(client: &reqwest::Client, target: &str, delivery: &Delivery) -> (u16, String) {
    let mut request = client.post(target).body(delivery.body.clone());
    for (name, value) in &delivery.headers {
        request = request.header(*name, value);
    }
    match request.send().await {
        Ok(answer) if answer.status().is_success() => (answer.status().as_u16(), "OK".into()),
        Ok(answer) => {
            let status = answer.status().as_u16();
            (status, format!("Invalid HTTP Response: {status}"))
        }
        Err(error) if error.is_timeout() => (504, "timed out".into()),
        Err(_) => (502, "failed to connect to host".into()),
    }
}
