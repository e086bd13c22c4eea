//! The entry must exist and be callable as before: its callers do not change with it.

use tree_sitter::Node;

use super::names::Names;
use super::reject;
use crate::kernel::Rejection;
use crate::kernel::syntax::{Source, children, descendants};

/// Checks the first of `entries` that the baseline defines at its top level.
pub(super) fn check(
    before: &Names<'_>,
    after: &Names<'_>,
    entries: &[String],
) -> Result<(), Rejection> {
    let known = entries.iter().find_map(|name| Some((name, definition(before.source(), name)?)));
    let Some((name, old)) = known else { return Ok(()) };
    let Some(new) = definition(after.source(), name) else {
        return Err(reject(format!("the entry {name} is gone: callers know it by that name")));
    };
    let line = Some(after.source().line(new.node()));
    match (&old, &new) {
        (Definition::Class(old), Definition::Class(new)) => {
            for method in ["__init__", "forward", "__call__"] {
                let Some(was) = method_parameters(before.source(), *old, method) else { continue };
                let Some(is) = method_parameters(after.source(), *new, method) else {
                    return Err(
                        reject(format!("the entry {name} lost its method {method}")).at_line(line)
                    );
                };
                compare(&format!("{name}.{method}"), &was, &is).map_err(|it| it.at_line(line))?;
            }
            Ok(())
        }
        (Definition::Class(_), _) => {
            Err(reject(format!("the entry {name} was a class and must stay one")).at_line(line))
        }
        (_, Definition::Other(value)) => {
            let same = matches!(&old, Definition::Other(was)
                if before.source().slice(*was) == after.source().slice(*value));
            if same {
                return Ok(());
            }
            Err(reject(format!(
                "the entry {name} must be a function, or an instance of a class, of this file: \
                 how it is called cannot be read from its definition"
            ))
            .at_line(line))
        }
        _ => {
            let (was, is) = (old.parameters(before.source()), new.parameters(after.source()));
            match (was, is) {
                (Some(was), Some(is)) => compare(name, &was, &is).map_err(|it| it.at_line(line)),
                // How the baseline is called cannot be read either.
                (None, _) => Ok(()),
                (Some(_), None) => {
                    Err(reject(format!("the entry {name} cannot be called")).at_line(line))
                }
            }
        }
    }
}

/// What a top-level name is bound to.
#[derive(Clone, Copy, Debug)]
enum Definition<'s> {
    Function(Node<'s>),
    Class(Node<'s>),
    /// An instance of this class of the same file.
    Instance(Node<'s>),
    Other(Node<'s>),
}

impl<'s> Definition<'s> {
    fn node(&self) -> Node<'s> {
        let (Self::Function(node) | Self::Class(node) | Self::Instance(node) | Self::Other(node)) =
            self;
        *node
    }

    /// The parameters with which it is called.
    fn parameters(&self, source: &Source) -> Option<Vec<Parameter>> {
        match self {
            Self::Function(node) => Some(parameters(source, *node)),
            Self::Instance(class) => ["__call__", "forward"]
                .iter()
                .find_map(|method| method_parameters(source, *class, method)),
            Self::Class(_) | Self::Other(_) => None,
        }
    }
}

/// What `name` is bound to in the end, with simple renamings followed.
fn definition<'s>(source: &'s Source, name: &str) -> Option<Definition<'s>> {
    let mut name = name;
    // Longer chains of renamings than this are circles.
    for _ in 0..8 {
        let node = last_binding(source, name)?;
        return Some(match node.kind() {
            "function_definition" => Definition::Function(node),
            "class_definition" => Definition::Class(node),
            "identifier" => {
                name = source.slice(node);
                continue;
            }
            "call" => {
                let callee = node.child_by_field_name("function").map_or("", |it| source.slice(it));
                match last_binding(source, callee) {
                    Some(class) if class.kind() == "class_definition" => {
                        Definition::Instance(class)
                    }
                    _ => Definition::Other(node),
                }
            }
            _ => Definition::Other(node),
        });
    }
    None
}

/// The definition, or the value assigned, of the last top-level statement that binds `name`.
fn last_binding<'s>(source: &'s Source, name: &str) -> Option<Node<'s>> {
    children(source.root()).filter_map(|statement| bound_by(source, statement, name)).next_back()
}

fn bound_by<'s>(source: &'s Source, statement: Node<'s>, name: &str) -> Option<Node<'s>> {
    let is_name = |node: Option<Node<'_>>| node.is_some_and(|it| source.slice(it) == name);
    match statement.kind() {
        "decorated_definition" => {
            bound_by(source, statement.child_by_field_name("definition")?, name)
        }
        "function_definition" | "class_definition" => {
            is_name(statement.child_by_field_name("name")).then_some(statement)
        }
        "expression_statement" => {
            let assignment = statement.named_child(0).filter(|it| it.kind() == "assignment")?;
            let value = assignment.child_by_field_name("right")?;
            is_name(assignment.child_by_field_name("left")).then_some(value)
        }
        "import_from_statement" => descendants(statement)
            .any(|it| it.kind() == "identifier" && source.slice(it) == name)
            .then_some(statement),
        _ => None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    /// As written, with its stars; `*` and `/` alone are separators.
    name: String,
    default: bool,
}

impl Parameter {
    fn may_be_added(&self) -> bool {
        self.default || self.name.starts_with('*') || self.name == "/"
    }
}

fn method_parameters(source: &Source, class: Node<'_>, method: &str) -> Option<Vec<Parameter>> {
    let body = class.child_by_field_name("body")?;
    let node = children(body).filter_map(|it| bound_by(source, it, method)).next_back()?;
    let own = parameters(source, node);
    let is_static =
        node.prev_named_sibling().is_some_and(|it| source.slice(it).ends_with("staticmethod"));
    Some(own.into_iter().skip(usize::from(!is_static)).collect())
}

fn parameters(source: &Source, function: Node<'_>) -> Vec<Parameter> {
    let Some(list) = function.child_by_field_name("parameters") else { return Vec::new() };
    let named = children(list).filter(|it| it.is_named() && it.kind() != "comment");
    named
        .map(|node| {
            let name = match node.kind() {
                "typed_parameter" => node.named_child(0),
                "default_parameter" | "typed_default_parameter" => node.child_by_field_name("name"),
                _ => Some(node),
            };
            Parameter {
                name: name.map_or("", |it| source.slice(it)).to_owned(),
                default: node.child_by_field_name("value").is_some(),
            }
        })
        .collect()
}

fn compare(name: &str, was: &[Parameter], is: &[Parameter]) -> Result<(), Rejection> {
    let kept = was.iter().zip(is).all(|(a, b)| a.name == b.name && (b.default || !a.default));
    let extra = is.get(was.len()..);
    if kept && extra.is_some_and(|extra| extra.iter().all(Parameter::may_be_added)) {
        return Ok(());
    }
    Err(reject(format!(
        "the entry {name}({}) became {name}({}): it must keep its parameters, in order and with \
         their defaults; further ones need a default",
        listed(was),
        listed(is)
    )))
}

fn listed(parameters: &[Parameter]) -> String {
    let one =
        |it: &Parameter| if it.default { format!("{}=…", it.name) } else { it.name.clone() };
    parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}
