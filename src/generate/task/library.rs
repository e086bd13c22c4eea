//! All tasks: the embedded ones, and those of a maintainer.

use std::{collections::BTreeMap, fs, path::Path};

use include_dir::{Dir, include_dir};

use super::{ExpertTask, TaskError};
use crate::generate::files::read_small;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/generate/task/tasks");

/// Expert tasks by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library(BTreeMap<String, ExpertTask>);

impl Library {
    /// The tasks that come with the program.
    pub fn embedded() -> Result<Self, TaskError> {
        let mut library = Self::default();
        for file in EMBEDDED.files() {
            let name = file.path().display().to_string();
            library.add(&name, file.contents_utf8().unwrap_or_default())?;
        }
        Ok(library)
    }

    /// Adds the task in `text`, or replaces the one of the same name; `file` names it in errors.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), TaskError> {
        let task = ExpertTask::parse(file, text)?;
        self.0.insert(task.name.clone(), task);
        Ok(())
    }

    /// Adds the task files (`*.toml`) of `folder`.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), TaskError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| TaskError::Unreadable { path, source }
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            paths.extend(path.extension().is_some_and(|it| it == "toml").then_some(path));
        }
        if paths.is_empty() {
            return Err(TaskError::NoTask(folder.to_owned()));
        }
        paths.sort();
        for path in paths {
            let text = read_small(&path).map_err(unreadable(&path))?;
            self.add(&path.display().to_string(), &text)?;
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&ExpertTask> {
        self.0.get(name)
    }

    /// By name.
    pub fn iter(&self) -> impl Iterator<Item = &ExpertTask> {
        self.0.values()
    }
}
