//! Built-in functions and attributes through which code reaches beyond its own file.

use std::collections::HashMap;

use tree_sitter::Node;

use super::Finding;
use super::library::is_compute_method;
use super::names::Names;
use crate::kernel::syntax::{Source, children, descendants};

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
    let mut scopes = Scopes { source, binds: HashMap::new() };
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
            if is_dunder(text) && !PLAIN_DUNDERS.contains(&text) {
                found.push(finding(format!(
                    "reads the attribute {text}, which reaches behind an object's interface"
                )));
            }
        } else if FORBIDDEN.contains(&text) && scopes.leave_to_builtins(node, text) {
            found.push(finding(format!(
                "uses {text}: a candidate may not run text as code, touch files, or look names up"
            )));
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
                Some(name) if is_dunder(name) || is_compute_method(name) => {
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

/// Which functions bind which names; remembered, since a name may occur very often.
struct Scopes<'s> {
    source: &'s Source,
    binds: HashMap<(usize, &'s str), bool>,
}

impl<'s> Scopes<'s> {
    /// Whether the identifier `node` means the built-in: no enclosing function binds the name.
    ///
    /// Bindings in a module or a class do not count: there, `open = open` reads the built-in.
    fn leave_to_builtins(&mut self, node: Node<'s>, name: &'s str) -> bool {
        if !is_read(node) {
            return false;
        }
        let source = self.source;
        let mut inner = node;
        while let Some(outer) = inner.parent() {
            let scope = matches!(outer.kind(), "function_definition" | "lambda");
            let in_body = outer.child_by_field_name("body") == Some(inner);
            if scope && in_body {
                let known = self.binds.entry((outer.id(), name));
                if *known.or_insert_with(|| binds(source, outer, name)) {
                    return false;
                }
            }
            inner = outer;
        }
        true
    }
}

/// Whether `function` has a parameter or a local variable called `name`.
fn binds(source: &Source, function: Node<'_>, name: &str) -> bool {
    let mut bound = false;
    for node in descendants(function) {
        if matches!(node.kind(), "global_statement" | "nonlocal_statement")
            && children(node).any(|it| source.slice(it) == name)
        {
            return false;
        }
        bound |= node.kind() == "identifier"
            && source.slice(node) == name
            && !is_read(node)
            && scope_of_binding(node) == Some(function);
    }
    bound
}

/// The function in whose scope an identifier is bound; `None` for other scopes.
fn scope_of_binding(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.parent()?;
    if at.child_by_field_name("name") == Some(node)
        && matches!(at.kind(), "function_definition" | "class_definition")
    {
        at = at.parent()?;
    }
    loop {
        match at.kind() {
            "function_definition" | "lambda" => return Some(at),
            "class_definition"
            | "list_comprehension"
            | "set_comprehension"
            | "dictionary_comprehension"
            | "generator_expression"
            | "keyword_argument"
            | "attribute" => return None,
            _ => at = at.parent()?,
        }
    }
}

/// Whether the identifier is the name after a dot.
fn is_attribute(node: Node<'_>) -> bool {
    node.parent().is_some_and(|it| it.child_by_field_name("attribute") == Some(node))
}

fn is_callee(node: Node<'_>) -> bool {
    node.parent().is_some_and(|it| it.child_by_field_name("function") == Some(node))
}

/// Whether the identifier is read, rather than bound, or the name of a keyword argument.
pub(super) fn is_read(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return true };
    let is = |field| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "parameters"
        | "lambda_parameters"
        | "typed_parameter"
        | "list_splat_pattern"
        | "dictionary_splat_pattern"
        | "pattern_list"
        | "tuple_pattern"
        | "global_statement"
        | "nonlocal_statement"
        | "dotted_name"
        | "aliased_import" => false,
        "default_parameter" | "typed_default_parameter" | "keyword_argument" => !is("name"),
        "function_definition" | "class_definition" => !is("name"),
        "assignment" | "for_statement" | "for_in_clause" => !is("left"),
        "attribute" => !is("attribute"),
        _ => true,
    }
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
