//! A user's templates.

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn refusal(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    let prompter = Prompter::with_folder(folder.path());
    let prompt = prompter.and_then(|prompter| prompter.conversation(&mean(), PLENTY));
    prompt.unwrap_err().to_string()
}

#[test]
fn a_template_of_the_same_name_replaces_ours() {
    let folder = folder(&[("rules.md", "House rules for {{ target }}: {{ rules | join('; ') }}")]);
    let prompter = Prompter::with_folder(folder.path()).unwrap();
    let prompt = prompter.conversation(&mean(), PLENTY).unwrap();
    let text = &prompt.conversation.messages[0].text;
    assert!(text.contains("House rules for mean: no tl.make_block_ptr\n"), "{text}");
    assert!(!text.contains("# Rules of this target"));
}

#[test]
fn a_mistake_is_named_with_file_and_line() {
    let error = refusal(&[("task.md", "one\ntwo {% if %}\n")]);
    assert!(error.contains("task.md, line 2: syntax error"), "{error}");
    let error = refusal(&[("device.md", "\n\n{{ devise.name }}")]);
    assert!(error.contains("device.md, line 3: undefined value"), "{error}");
    let error = refusal(&[("device.md", "{{ device | nonsense }}")]);
    assert!(error.contains("device.md, line 1: unknown filter"), "{error}");
}

#[test]
fn a_file_that_is_no_template_is_an_error() {
    let error = refusal(&[("taks.md", "x")]);
    assert!(error.contains("taks.md: there is no template of that name"), "{error}");
    assert!(error.contains("task.md"), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let error = Prompter::with_folder(Path::new("no/such/folder")).unwrap_err().to_string();
    assert!(error.contains("no/such/folder") && error.contains("give a folder"), "{error}");
}
