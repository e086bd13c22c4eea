//! From what a person names to a target.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    error::EngineError,
    project::{FILE_NAME, KernelEntry, Project},
};
use crate::kernel::{Entry, Package, Target, syntax::Source};

/// Largest source that is read; kernels are hand-written.
const MAX_SOURCE_BYTES: u64 = 1 << 20;

/// How a person names a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A source file and a contract: the paper's two files.
    Files { source: PathBuf, contract: PathBuf },
    /// A kernel of a `kernelbrain.toml`.
    Configured { file: PathBuf, kernel: Option<String> },
}

impl Selection {
    /// Reads the files and checks what can be checked without running them.
    pub fn resolve(&self) -> Result<Target, EngineError> {
        match self {
            Self::Files { source, contract } => standalone(source, contract),
            Self::Configured { file, kernel } => {
                let project = Project::read(file)?;
                let root = file.parent().filter(|it| !it.as_os_str().is_empty());
                in_tree(
                    &absolute(root.unwrap_or(Path::new(".")))?,
                    project.kernel(kernel.as_deref())?,
                )
            }
        }
    }
}

fn standalone(source: &Path, contract: &Path) -> Result<Target, EngineError> {
    let target = unread(source, contract)?;
    Ok(Target { text: read_source(&target.source)?.into(), ..target })
}

/// A target of a source file and a contract, without the source's text.
pub(super) fn unread(source: &Path, contract: &Path) -> Result<Target, EngineError> {
    let source = absolute(source)?;
    let contract = contract_path(contract)?;
    Ok(Target {
        name: display_name(&source),
        text: "".into(),
        entry: Entry { module: None, function: None },
        contract,
        editable: None,
        package: None,
        rules: Vec::new(),
        tests: None,
        archs: Vec::new(),
        source,
    })
}

/// The folder's name for the customary file names, else the file's own.
fn display_name(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let customary = ["input_kernel", "input", "kernel", "submission"];
    let folder = source.parent().and_then(Path::file_name);
    match folder {
        Some(folder) if customary.contains(&stem.as_str()) => folder.to_string_lossy().into_owned(),
        _ => stem,
    }
}

fn in_tree(root: &Path, kernel: &KernelEntry) -> Result<Target, EngineError> {
    let source = absolute(&root.join(&kernel.source))?;
    let usage = |text: String| {
        EngineError::Usage(format!("{FILE_NAME}: kernel \"{}\": {text}", kernel.name))
    };
    if !source.starts_with(root) {
        return Err(usage(format!("{} lies outside of the repository", source.display())));
    }
    let contract = contract_path(&root.join(&kernel.test))?;
    if !contract.starts_with(root) {
        return Err(usage(format!("{} lies outside of the repository", contract.display())));
    }
    let (module, function) = kernel
        .entry
        .split_once(':')
        .filter(|(module, function)| !module.is_empty() && !function.is_empty())
        .ok_or_else(|| usage("entry must read \"package.module:function\"".into()))?;
    let (import_root, own_module) = module_of(&source, root);
    let text = read_source(&source)?;
    if let Some(editable) = &kernel.edit {
        known_symbols(&text, editable).map_err(usage)?;
    }
    let tests = kernel.tests.as_ref().map(|command| command.words()).transpose()?;
    Ok(Target {
        name: kernel.name.clone(),
        text: text.into(),
        entry: Entry { module: Some(module.into()), function: Some(function.into()) },
        contract,
        editable: kernel.edit.clone(),
        package: Some(Package { repository: root.to_owned(), import_root, module: own_module }),
        rules: kernel.rules.clone(),
        tests,
        archs: kernel.archs.clone(),
        source,
    })
}

/// Whether a source defines what may be edited; the error lists what it does define.
fn known_symbols(text: &str, editable: &[String]) -> Result<(), String> {
    // What is no Python is told with its line later.
    let Ok(source) = Source::parse(text) else { return Ok(()) };
    let symbols = source.symbols();
    match editable.iter().find(|name| !symbols.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(format!(
            "edit names {unknown}, which the source does not define at its top; it defines {}",
            symbols.join(", ")
        )),
    }
}

/// The folder from which a source file is imported, and its dotted name there: packages are
/// followed upwards as long as they have an `__init__.py`.
fn module_of(source: &Path, root: &Path) -> (PathBuf, String) {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = if stem == "__init__" { Vec::new() } else { vec![stem] };
    let mut folder = source.parent().unwrap_or(root);
    while folder.starts_with(root) && folder != root && folder.join("__init__.py").is_file() {
        names.push(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
        folder = folder.parent().unwrap_or(root);
    }
    names.reverse();
    (folder.to_owned(), names.join("."))
}

fn absolute(path: &Path) -> Result<PathBuf, EngineError> {
    path.canonicalize().map_err(|source| EngineError::Read { path: path.to_owned(), source })
}

/// The contract's path; for a gpu-mode task its folder or `task.yml`.
pub(super) fn contract_path(path: &Path) -> Result<PathBuf, EngineError> {
    absolute(path)
}

/// Reads a kernel's source; it must be UTF-8 and of a size that a person writes, and hold a kernel.
pub fn read_source(path: &Path) -> Result<String, EngineError> {
    let text = read_text(path)?;
    let source = crate::kernel::syntax::Source::parse(text.as_str()).map_err(|error| {
        EngineError::Usage(format!(
            "{}:{}: not Python, near `{}`",
            path.display(),
            error.line,
            error.excerpt
        ))
    })?;
    if source.kernels().is_empty() {
        return Err(EngineError::Usage(format!(
            "{} has no function decorated with @triton.jit, so there is nothing to optimise in it",
            path.display()
        )));
    }
    Ok(text)
}

/// Reads a file that may become a candidate: UTF-8, and of a size that a person writes.
pub(super) fn read_text(path: &Path) -> Result<String, EngineError> {
    let fail = |source| EngineError::Read { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(fail)?;
    if !metadata.is_file() {
        return Err(EngineError::Usage(format!("{} is not a file", path.display())));
    }
    if metadata.len() > MAX_SOURCE_BYTES {
        return Err(EngineError::Usage(format!(
            "{} has {} bytes; a kernel's source may have at most {MAX_SOURCE_BYTES}",
            path.display(),
            metadata.len()
        )));
    }
    let bytes = fs::read(path).map_err(fail)?;
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        EngineError::Usage(format!("{}:{line}: not UTF-8", path.display()))
    })
}
