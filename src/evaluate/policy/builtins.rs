//! Built-in functions and attributes through which code reaches beyond its own file.

use tree_sitter::Node;

use super::Finding;
use super::library::refuses_attribute;
use super::names::Names;
use super::scopes::{Scopes, is_bound, is_read};
use crate::kernel::syntax::{children, descendants};

const FORBIDDEN: [&str; 17] = [
    "__builtins__",
    "__import__",
    "__loader__",
    "__spec__",
    "breakpoint",
    "compile",
    "delattr",
    "eval",
    "exec",
    "exit",
    "globals",
    "input",
    "locals",
    "open",
    "quit",
    "setattr",
    "vars",
];

/// Double-underscore attributes that ordinary classes use.
const PLAIN_DUNDERS: [&str; 8] = [
    "__call__",
    "__doc__",
    "__enter__",
    "__exit__",
    "__init__",
    "__name__",
    "__qualname__",
    "__version__",
];

pub(super) fn find(names: &Names<'_>, found: &mut Vec<Finding>) {
    let source = names.source();
    let mut scopes = Scopes::of(source);
    for node in descendants(source.root()) {
        let text = match node.kind() {
            "identifier" => source.slice(node),
            "call" => {
                found.extend(dynamic_access(names, node));
                continue;
            }
            _ => continue,
        };
        let finding = |message| Finding { key: text.to_owned(), line: source.line(node), message };
        if !text.is_ascii() {
            found.push(finding(format!(
                "the name {text} is not ASCII: Python normalises such names, so it may stand for another"
            )));
        } else if is_attribute(node) {
            if reaches_behind(text) && !names_a_class(names, node) {
                found.push(finding(format!(
                    "reads the attribute {text}, which reaches behind an object's interface"
                )));
            }
        } else if FORBIDDEN.contains(&text) && scopes.leave_to_builtins(node, text) {
            found.push(finding(format!(
                "uses {text}: a candidate may not run text as code, touch files, or look names up"
            )));
        } else if text == "__name__" && is_bound(node) {
            found.push(finding(
                "binds __name__, which says whether a file is run or imported".into(),
            ));
        } else if text == "getattr" && !is_callee(node) && is_read(node) {
            found.push(finding("passes getattr around: call it with a literal name".to_owned()));
        }
    }
}

/// `getattr` with a name that cannot be read here, or on a module; `type` with three arguments.
fn dynamic_access(names: &Names<'_>, call: Node<'_>) -> Option<Finding> {
    let source = names.source();
    let callee = call.child_by_field_name("function")?;
    let arguments: Vec<_> = {
        let list = call.child_by_field_name("arguments")?;
        children(list).filter(|it| it.is_named() && it.kind() != "comment").collect()
    };
    let message = match source.slice(callee) {
        "type" if arguments.len() > 1 => "makes a class by calling type: write the class out",
        "getattr" => {
            let object = arguments.first()?;
            let name = arguments.get(1).map_or("", |name| source.slice(*name));
            let literal = name
                .strip_prefix(['"', '\''])
                .and_then(|it| it.strip_suffix(['"', '\'']))
                .filter(|it| it.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            match literal {
                None => "calls getattr with a name that cannot be read from the source",
                Some(_) if !names.resolve(*object).is_empty() => {
                    "calls getattr on a module: write the attribute out"
                }
                Some(name) if is_dunder(name) || refuses_attribute(name) => {
                    "calls getattr for an attribute that may not be used directly either"
                }
                Some(_) => return None,
            }
        }
        _ => return None,
    };
    let text = source.slice(call);
    Some(Finding {
        key: text.to_owned(),
        line: source.line(call),
        message: format!("`{}` {message}", shortened(text)),
    })
}

/// Whether the identifier is the name after a dot.
fn is_attribute(node: Node<'_>) -> bool {
    node.parent().is_some_and(|it| it.child_by_field_name("attribute") == Some(node))
}

/// `self.__class__.__name__`, as a module's `__repr__` has it: a text, and nothing leads on from it.
fn names_a_class(names: &Names<'_>, attribute: Node<'_>) -> bool {
    let source = names.source();
    let name = attribute.parent().and_then(|it| it.parent());
    let name = name.filter(|it| it.kind() == "attribute" && !is_bound(*it));
    let name = name.and_then(|it| it.child_by_field_name("attribute"));
    let name = name.map_or("", |it| source.slice(it));
    source.slice(attribute) == "__class__" && matches!(name, "__name__" | "__qualname__")
}

fn is_callee(node: Node<'_>) -> bool {
    node.parent().is_some_and(|it| it.child_by_field_name("function") == Some(node))
}

/// Whether `name` is an attribute of the interpreter's own that ordinary code does not read.
pub(super) fn reaches_behind(name: &str) -> bool {
    is_dunder(name) && !PLAIN_DUNDERS.contains(&name)
}

fn is_dunder(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}

/// `text` on one line, cut where it is long.
pub(super) fn shortened(text: &str) -> String {
    let line: Vec<_> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
