//! Templates: the embedded ones, and a user's in their place.

use std::{collections::BTreeMap, fs, path::Path};

use include_dir::{Dir, include_dir};
use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};

use super::{PromptError, filters};
use crate::generate::files::read_small;

static EMBEDDED: [Dir<'_>; 2] = [
    include_dir!("$CARGO_MANIFEST_DIR/src/generate/prompt/templates"),
    include_dir!("$CARGO_MANIFEST_DIR/src/generate/review/templates"),
];

#[derive(Debug)]
pub(in crate::generate) struct Templates {
    environment: Environment<'static>,
    /// Where a template comes from, for messages.
    files: BTreeMap<String, String>,
}

impl Templates {
    pub(in crate::generate) fn embedded() -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        // A name that is misspelt is an error, not nothing.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| PromptError::Template {
            file: "system.md".to_owned(),
            line: 1,
            reason: error.to_string(),
        })?);
        filters::add_to(&mut environment);
        let mut templates = Self { environment, files: BTreeMap::new() };
        for file in EMBEDDED.iter().flat_map(Dir::files) {
            let name = file.path().display().to_string();
            templates.add(&name, &name, file.contents_utf8().unwrap_or_default())?;
        }
        Ok(templates)
    }

    /// Replaces templates by the files (`*.md`) of `folder`.
    pub(in crate::generate) fn add_folder(&mut self, folder: &Path) -> Result<(), PromptError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| PromptError::Unreadable { path, source }
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            paths.extend(path.extension().is_some_and(|it| it == "md").then_some(path));
        }
        paths.sort();
        for path in paths {
            let name =
                path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
            if !self.files.contains_key(&name) {
                let known = self.files.keys().cloned().collect();
                return Err(PromptError::UnknownTemplate { path, known });
            }
            let text = read_small(&path).map_err(unreadable(&path))?;
            self.add(&name, &path.display().to_string(), &text)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, file: &str, text: &str) -> Result<(), PromptError> {
        self.files.insert(name.to_owned(), file.to_owned());
        let added = self.environment.add_template_owned(name.to_owned(), text.to_owned());
        added.map_err(|error| self.explained(name, &error))
    }

    pub(in crate::generate) fn render(
        &self,
        name: &str,
        context: Value,
    ) -> Result<String, PromptError> {
        let template = self.environment.get_template(name);
        let text = template.and_then(|template| template.render(context));
        text.map_err(|error| self.explained(name, &error))
    }

    fn explained(&self, name: &str, error: &minijinja::Error) -> PromptError {
        let name = error.name().unwrap_or(name);
        let kind = error.kind().to_string();
        PromptError::Template {
            file: self.files.get(name).cloned().unwrap_or_else(|| name.to_owned()),
            line: error.line().unwrap_or(1),
            reason: error.detail().map_or(kind.clone(), |detail| format!("{kind}: {detail}")),
        }
    }
}
