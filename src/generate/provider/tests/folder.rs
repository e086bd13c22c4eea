//! A folder as provider: the run asks, somebody answers at some time.

use std::{fs, os::unix::fs::PermissionsExt};

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_answer_is_awaited_and_picked_up_in_any_order() {
    let place = tempfile::tempdir().unwrap();
    let provider = folder(&place.path().join("prompts"), &limits());
    let place = place.path().join("prompts");
    let (first, second) = (question(), Conversation::new("", "Another one."));
    for conversation in [&first, &second, &first] {
        assert_eq!(provider.ask(conversation).await.unwrap(), Reply::Awaited);
    }
    assert_eq!(names(&place).len(), 2, "{:?}", names(&place));

    fs::write(place.join(format!("{}.answer.md", second.id())), "Second.\n").unwrap();
    assert_eq!(provider.ask(&first).await.unwrap(), Reply::Awaited);
    assert_eq!(answer(&*provider, &second).await.text, "Second.\n");
    fs::write(place.join(format!("{}.answer.md", first.id())), "First.\n").unwrap();
    // Whoever resumes the run finds it.
    let resumed = folder(&place, &limits());
    assert_eq!(answer(&*resumed, &first).await.text, "First.\n");
    assert_eq!(answer(&*resumed, &second).await.text, "Second.\n");
    assert!(resumed.remarks().await.is_empty());
}

#[tokio::test]
async fn a_prompt_says_everything_and_where_the_answer_goes() {
    let place = tempfile::tempdir().unwrap();
    let id = question().id();
    folder(place.path(), &limits()).ask(&question()).await.unwrap();
    let path = place.path().join(format!("{id}.prompt.md"));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!(
            "<!-- Answer this in a file {id}.answer.md beside it; write it under another name \
             first and rename it when it is complete. -->\n\nYou write Triton kernels.\n\n---\n\n\
             Make `softmax_kernel` faster.\n"
        )
    );
    // It is written once: what is in it afterwards is the business of whoever answers.
    fs::write(&path, "in work").unwrap();
    folder(place.path(), &limits()).ask(&question()).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "in work");
}

#[tokio::test]
async fn faults_of_an_answer_name_its_file_and_can_be_mended() {
    let place = tempfile::tempdir().unwrap();
    let provider = folder(place.path(), &limits());
    let path = place.path().join(format!("{}.answer.md", question().id()));
    let name = path.display().to_string();
    fs::write(&path, b"caf\xe9").unwrap();
    says(&error(&*provider, &question()).await, &[&name, "not UTF-8 (byte 3)"]);
    fs::write(&path, vec![b'x'; 10_000_000]).unwrap();
    says(&error(&*provider, &question()).await, &[&name, "longer than 65536 bytes"]);
    fs::write(&path, "Done.").unwrap();
    assert_eq!(answer(&*provider, &question()).await.text, "Done.");
}

#[tokio::test]
async fn what_is_no_file_with_a_text_in_it_is_no_answer_yet() {
    let place = tempfile::tempdir().unwrap();
    let provider = folder(place.path(), &limits());
    let path = place.path().join(format!("{}.answer.md", question().id()));
    let awaited = async || {
        let reply = provider.ask(&question()).await.unwrap();
        assert_eq!(reply, Reply::Awaited);
    };
    fs::write(&path, " \n").unwrap();
    awaited().await;
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    awaited().await;
    fs::remove_dir(&path).unwrap();
    // Nobody else's files are read for whoever may write here.
    let secret = place.path().join("secret");
    fs::write(&secret, "root:x:0:0").unwrap();
    std::os::unix::fs::symlink(&secret, &path).unwrap();
    awaited().await;
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    awaited().await;
    fs::remove_file(&path).unwrap();
    fs::write(&path, "Done.").unwrap();
    assert_eq!(answer(&*provider, &question()).await.text, "Done.");
}

#[tokio::test]
async fn files_that_are_taken_for_no_answer_are_listed() {
    let place = tempfile::tempdir().unwrap();
    let provider = folder(place.path(), &limits());
    provider.ask(&question()).await.unwrap();
    let path = |name: &str| place.path().join(name);
    let known = format!("{}.answer.md", question().id());
    for name in [known.as_str(), "0123456789abcdef.answer.md", "my.answer.md", "notes.md"] {
        fs::write(path(name), "x").unwrap();
    }
    std::os::unix::fs::symlink(path("notes.md"), path("other.answer.md")).unwrap();
    let said = |name: &str, why: &str| format!("{} {why}", path(name).display());
    let nobody = "has no prompt beside it: it counts if a question of that name is asked";
    let mut remarks = vec![
        said("0123456789abcdef.answer.md", nobody),
        said("my.answer.md", nobody),
        said("other.answer.md", "is no file of its own, and so no answer"),
    ];
    assert_eq!(provider.remarks().await, remarks);
    fs::write(path(&known), " \n").unwrap();
    remarks.push(said(&known, "is empty: it counts when something is in it"));
    remarks.sort();
    assert_eq!(provider.remarks().await, remarks);
    let recorder = Recorder::new(provider, &place.path().join("answers.jsonl")).unwrap();
    assert_eq!(recorder.remarks().await, remarks);
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let environment = |_: &str| None;
    let limits = limits();
    let setup =
        Setup { limits: &limits, key_file: None, plain_http: false, environment: &environment };
    let spec = ProviderSpec::Folder { path: file.join("prompts") };
    let error = spec.open(&setup).unwrap_err().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");

    // One that has gone since.
    let gone = place.path().join("gone");
    let provider = folder(&gone, &limits);
    fs::remove_dir(&gone).unwrap();
    says(&super::error(&*provider, &question()).await, &["cannot write", "gone"]);
}

#[tokio::test]
async fn others_may_read_a_prompt_as_far_as_the_mask_lets_them() {
    let place = tempfile::tempdir().unwrap();
    folder(place.path(), &limits()).ask(&question()).await.unwrap();
    let path = place.path().join(format!("{}.prompt.md", question().id()));
    fs::write(place.path().join("ordinary"), "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&place.path().join("ordinary")));
}
