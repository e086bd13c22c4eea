//! `make app-demo`: the whole story of the GitHub App on one machine, without internet and without a GPU.
//!
//! A mock GitHub with a real git repository, the real `kernelbrain serve` as a process of its own, a
//! signed `labeled` webhook, a real search on the cpu device. Ends with 0 only if the suggestion, applied
//! as GitHub applies it, is the verified file byte for byte.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a demonstration that goes wrong says where"
)]

#[path = "../../mock/mod.rs"]
mod mock;

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use kernelbrain::{
    service::order::results_of,
    store::{
        SqliteStore,
        service::{JobState, JobStore, JournalStore},
    },
};
use mock::{APP_ID, APP_KEY, GitHub, Permission, PullRequest};

/// Longest that the story may take.
const PATIENCE: Duration = Duration::from_secs(600);
const BUDGET: &str = "75s";
const SOURCE: &str = "rowwise/softmax.py";

#[tokio::main]
async fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let github = GitHub::start();
    let pull = pull_request(&github);
    say(&format!("A mock GitHub listens at {}. On it, acme/rowwise, where mona", github.site()));
    say("has opened pull request #1: a Triton kernel instead of torch.softmax.");

    let mut service = start_service(folder.path(), &github);
    say(&format!("The service runs as process {}, its runner inside.", service.id()));
    say(&format!(
        "mona puts the label on; GitHub sends a signed webhook. Up to {BUDGET} of search.\n"
    ));
    pull.label("optimize-kernel", "mona");

    let ended = watch(&github, &mut service).await;
    println!("\n{:=^100}\n", " the pull request as people see it ");
    println!("{}", pull.conversation());
    println!("{:=^100}\n", "");
    let verdict = match ended {
        Ok(()) => judge(folder.path(), &pull).await,
        Err(why) => Err(why),
    };
    service.kill().ok();
    service.wait().ok();
    match verdict {
        Ok(text) => {
            say(&text);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("the story went wrong: {why}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    println!("{text}");
}

/// A repository whose kernel is configured, and a pull request that writes it.
fn pull_request(github: &GitHub) -> PullRequest {
    let rowwise = github.repository("acme/rowwise");
    rowwise.set_permission("mona", Permission::Write);
    rowwise.commit(
        "main",
        &[
            ("README.md", "# rowwise\n\nOperators over the rows of a matrix.\n"),
            ("kernelbrain.toml", include_str!("kernelbrain.toml")),
            ("rowwise/__init__.py", ""),
            (SOURCE, include_str!("before.py")),
            ("contracts/softmax.py", include_str!("contract.py")),
            ("tests/test_softmax.py", include_str!("test_softmax.py")),
        ],
    );
    rowwise.commit("triton-softmax", &[(SOURCE, include_str!("after.py"))]);
    rowwise.open_pull("mona", "triton-softmax")
}

/// `kernelbrain serve` as anybody would start it.
fn start_service(folder: &Path, github: &GitHub) -> Child {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("app.pem", APP_KEY);
    write("webhook-secret", &github.webhook_secret());
    write(
        "kernelbrain-server.toml",
        &format!(
            "[github]\napp_id = {APP_ID}\napi = \"{}\"\ngit = \"{}\"\n\
             private_key_file = \"app.pem\"\nwebhook_secret_file = \"webhook-secret\"\n\n\
             [server]\nlisten = \"127.0.0.1:0\"\n\n\
             [policy]\nbudget = \"{BUDGET}\"\nprogress_every = \"15s\"\n\n\
             [runner]\narguments = [\"--device\", \"cpu\"]\n",
            github.api(),
            github.site(),
        ),
    );
    let binary = std::env::var("KERNELBRAIN").unwrap_or_else(|_| "target/debug/kernelbrain".into());
    let mut service = Command::new(&binary)
        .arg("serve")
        .arg("--config")
        .arg(folder.join("kernelbrain-server.toml"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {binary}: {error}"));
    let mut line = String::new();
    BufReader::new(service.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    github.deliver_to(&format!("{address}/webhook"));
    service
}

/// Shows every state of the check run as it comes, until it is over.
async fn watch(github: &GitHub, service: &mut Child) -> Result<(), String> {
    let begun = Instant::now();
    let mut shown = 0;
    loop {
        if let Some(run) = github.check_runs().first() {
            for state in run.history.iter().skip(shown) {
                let title = state.lines().next().unwrap_or_default();
                println!("{:>4} s  check run: {title}", begun.elapsed().as_secs());
            }
            shown = run.history.len();
            if run.conclusion.is_some() {
                return Ok(());
            }
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("nothing came of it in {} s", PATIENCE.as_secs()));
        }
        if let Ok(Some(status)) = service.try_wait() {
            return Err(format!("the service ended with {status}"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Applies the suggestion and compares it with what was verified.
async fn judge(folder: &Path, pull: &PullRequest) -> Result<String, String> {
    let database = folder.join("kernelbrain-server.db");
    let store = SqliteStore::open(&database).await.map_err(|error| error.to_string())?;
    let measured = [JobState::Measured, JobState::Reported];
    let jobs = store.jobs_in(&measured, 10).await.map_err(|error| error.to_string())?;
    let job = jobs.first().ok_or("no job was measured")?;
    let results = results_of(job).map_err(|error| error.to_string())?;
    let kernel = results.verified().next().ok_or("nothing faster was found this time")?;
    let hash = kernel.verified.as_deref().unwrap_or_default();
    let verified = store.text(hash).await.map_err(|error| error.to_string())?;
    let review = pull.reviews().pop().ok_or("there is no review")?;
    let applied = pull.apply_suggestions(review.id, "mona").map_err(|why| format!("{why:?}"))?;
    let [(path, text)] = applied.as_slice() else {
        return Err(format!("{} files were changed", applied.len()));
    };
    if path == SOURCE && Some(text) == verified.as_ref() {
        Ok(format!("mona commits the suggestion: {path} is the verified file, byte for byte."))
    } else {
        Err(format!("{path} is not what was verified"))
    }
}
