//! Programs as providers.

use std::fs;

use super::*;

#[tokio::test]
async fn a_program_is_run_by_its_words_and_not_by_a_shell() {
    let provider = open("command:printf '%s|%s' 'two words' $HOME;ls", &limits());
    assert_eq!(answer(&*provider, &question()).await.text, "two words|$HOME;ls");
    assert_eq!((provider.name(), provider.model()), ("command", "printf"));
}

#[tokio::test]
async fn the_prompt_is_on_its_standard_input() {
    let mut talk = question();
    talk.go_on("Here.", "x".repeat(300_000));
    let all = Limits { answer_bytes: 1_000_000, ..limits() };
    assert_eq!(answer(&*open("command:cat", &all), &talk).await.text, talk.to_markdown());
    // One that does not read it is within its rights.
    assert_eq!(answer(&*shell("exec <&-; echo Done.", &all), &talk).await.text, "Done.\n");
}

#[tokio::test]
async fn a_program_that_fails_tells_why() {
    let line = "for i in 1 2 3 4 5 6 7 8; do echo \"line $i\" >&2; done; echo half; exit 3";
    let error = error(&*shell(line, &limits()), &question()).await;
    says(&error, &["sh failed (exit status: 3)", "it printed:\nline 3\n", "line 8", "logged in"]);
    assert!(!error.to_string().contains("line 2"), "{error}");
    assert_eq!(error.attempts, 1);
    says(&super::error(&*shell("kill -9 $$", &limits()), &question()).await, &["signal: 9"]);
}

#[test]
fn a_program_that_is_not_there_is_named_without_its_arguments() {
    for program in ["no-such-program", "./no/such/program"] {
        let spec = ProviderSpec::parse(&format!("command:{program} --api-key sk-secret")).unwrap();
        let limits = limits();
        let setup =
            Setup { limits: &limits, key_file: None, plain_http: false, environment: &|_| None };
        let error = spec.open(&setup).unwrap_err();
        says(&error, &[&format!("there is no program {program}"), "installed and on the PATH"]);
        assert!(!format!("{error} {error:?}").contains("sk-secret"));
    }
}

#[tokio::test]
async fn a_program_that_does_not_start_is_named_without_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes");
    fs::write(&file, "not a program").unwrap();
    let provider = open(&format!("command:{} --api-key sk-secret", file.display()), &limits());
    let error = error(&*provider, &question()).await;
    says(&error, &["cannot run notes", "check that it is installed"]);
    assert!(!format!("{error} {error:?} {provider:?}").contains("sk-secret"));
}

/// Whether the process is there and has not ended: one that nobody has waited for yet has.
fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

async fn until_dead(process: &str) {
    let death = async {
        while lives(process) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(limits().time_out, death).await;
    assert!(waited.is_ok(), "process {process} lives on");
}

/// A line of shell that starts a process, writes its number to the file and goes on with `rest`.
fn starts(file: &std::path::Path, rest: &str) -> String {
    format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; {rest}", file.display())
}

async fn number_in(file: &std::path::Path) -> String {
    loop {
        match fs::read_to_string(file) {
            Ok(number) => return number,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

#[tokio::test]
async fn everything_that_a_program_started_ends_with_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("late");
    // A busy machine may take its time to start anything.
    for milliseconds in [300, 1_000, 5_000, 25_000] {
        let time_out = Duration::from_millis(milliseconds);
        let impatient = Limits { time_out, ..limits() };
        let error = error(&*shell(&starts(&file, "wait"), &impatient), &question()).await;
        assert!(matches!(error.fault, Fault::TimedOut { .. }), "{error}");
        if file.exists() {
            break;
        }
    }
    until_dead(&number_in(&file).await).await;

    // What holds the output open does not keep the answer back.
    let file = place.path().join("done");
    let text = answer(&*shell(&starts(&file, "echo Done."), &limits()), &question()).await.text;
    assert_eq!(text, "Done.\n");
    until_dead(&number_in(&file).await).await;

    // What holds nothing open ends as well.
    let file = place.path().join("quiet");
    let line = format!("exec 3>&1 >&- 2>&-; {}", starts(&file, "echo Done. >&3"));
    let quiet = line.replace("sleep 600 &", "sleep 600 3>&- &");
    assert_eq!(answer(&*shell(&quiet, &limits()), &question()).await.text, "Done.\n");
    until_dead(&number_in(&file).await).await;

    // What is out of reach lives on, but does not keep the answer back either.
    let file = place.path().join("away");
    let line = format!("setsid {}; echo Done.", starts(&file, ":"));
    let text = answer(&*shell(&line, &limits()), &question()).await.text;
    assert_eq!(text, "Done.\n");
    let away = rustix::process::Pid::from_raw(number_in(&file).await.trim().parse().unwrap());
    rustix::process::kill_process(away.unwrap(), rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_question_that_is_given_up_ends_the_program() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("number");
    let provider = shell(&starts(&file, "wait"), &limits());
    let asking = tokio::spawn(async move { provider.ask(&question()).await.is_ok() });
    let number = number_in(&file).await;
    assert!(lives(&number));
    asking.abort();
    until_dead(&number).await;
}

#[tokio::test]
async fn errors_are_kept_in_bounds() {
    let line = "yes complaint | head -c 5000000 >&2; printf '\\033[31mred' >&2; exit 1";
    let error = error(&*shell(line, &limits()), &question()).await;
    let text = error.to_string();
    assert!(text.len() < 4000 && text.contains("[31mred") && !text.contains('\u{1b}'), "{text}");
}
