//! Receivers that are no tensors: `self.max` of a class of the file's own may be anything that
//! this class has given the name to. It holds where the receiver's name can mean nothing else.

use std::collections::HashSet;

use tree_sitter::Node;

use super::Finding;
use super::names::{Names, decorators};
use super::scopes::bindings;
use crate::kernel::syntax::{Source, children, descendants};

/// Decorators that leave a method what it is: its first parameter is the instance, or the class.
const HARMLESS: [&str; 18] = [
    "abc.abstractmethod",
    "functools.cache",
    "functools.cached_property",
    "functools.lru_cache",
    "torch.amp.custom_bwd",
    "torch.amp.custom_fwd",
    "torch.autograd.function.once_differentiable",
    "torch.compiler.disable",
    "torch.cuda.amp.custom_bwd",
    "torch.cuda.amp.custom_fwd",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.no_grad",
    "typing.final",
    "typing.overload",
    "typing.override",
    "typing_extensions.override",
    "typing_extensions.overload",
];

/// Bases of functions with gradients.
pub(super) const FUNCTIONS: [&str; 2] =
    ["torch.autograd.Function", "torch.autograd.function.Function"];

/// What the file's classes say about receivers.
#[derive(Debug)]
pub(super) struct Receivers<'s> {
    /// Classes at the top level whose name is bound once.
    classes: HashSet<&'s str>,
    /// Attributes that some class of the file defines, or assigns to its instances.
    given: HashSet<&'s str>,
    /// Methods that take an instance.
    methods: HashSet<&'s str>,
}

impl<'s> Receivers<'s> {
    pub(super) fn of(names: &Names<'s>) -> Self {
        let source = names.source();
        let mut it =
            Self { classes: HashSet::new(), given: HashSet::new(), methods: HashSet::new() };
        for class in descendants(source.root()).filter(|node| node.kind() == "class_definition") {
            it.give(source, class);
            let Some(name) = class.child_by_field_name("name").map(|it| source.slice(it)) else {
                continue;
            };
            let top = parent(class).is_some_and(|it| it.kind() == "module");
            if top && bindings(source, source.root(), name) == 1 {
                it.classes.insert(name);
            }
        }
        it
    }

    fn give(&mut self, source: &'s Source, class: Node<'s>) {
        for method in methods(class) {
            let Some(name) = method.child_by_field_name("name").map(|it| source.slice(it)) else {
                continue;
            };
            self.given.insert(name);
            if decorators(method).is_empty() && !name.starts_with("__") {
                self.methods.insert(name);
            }
        }
        let body = class.child_by_field_name("body");
        for node in body.into_iter().flat_map(descendants) {
            match node.kind() {
                "assignment" | "augmented_assignment" => {
                    let left = node.child_by_field_name("left");
                    self.given.extend(left.into_iter().flat_map(descendants).filter_map(|it| {
                        match it.kind() {
                            "attribute" => {
                                it.child_by_field_name("attribute").map(|it| source.slice(it))
                            }
                            // A name of the class's own, such as a field.
                            "identifier" if at_class_level(node) => Some(source.slice(it)),
                            _ => None,
                        }
                    }));
                }
                "call" => self.given.extend(registered(source, node)),
                _ => {}
            }
        }
    }

    /// Whether `receiver.attribute` is an attribute that a class of the file has given.
    pub(super) fn own(&self, names: &Names<'s>, receiver: Node<'s>, attribute: &str) -> bool {
        let text = names.source().slice(receiver);
        if text == "super()" {
            return true;
        }
        let own = receiver.kind() == "identifier"
            && (self.classes.contains(text)
                || (matches!(text, "self" | "cls" | "ctx") && is_first_parameter(names, receiver)));
        own && self.given.contains(attribute)
    }

    /// A method that is read from its class: called so, its `self` may be anything.
    pub(super) fn unbound(&self, names: &Names<'s>, node: Node<'s>) -> Option<Finding> {
        let source = names.source();
        let class = node.child_by_field_name("object")?;
        let method = source.slice(node.child_by_field_name("attribute")?);
        if !self.classes.contains(source.slice(class)) || !self.methods.contains(method) {
            return None;
        }
        let first = node
            .parent()
            .filter(|it| it.child_by_field_name("function") == Some(node))
            .and_then(|call| call.child_by_field_name("arguments")?.named_child(0));
        if first.is_some_and(|it| source.slice(it) == "self" && is_first_parameter(names, it)) {
            return None;
        }
        let text = source.slice(node);
        Some(Finding {
            key: format!("unbound {text}"),
            line: source.line(node),
            message: format!("uses the method {text} without an instance of its class"),
        })
    }
}

/// Whether the identifier is the first parameter of the method it stands in, and nothing else
/// there: an instance, its class, or the context of a function with gradients.
fn is_first_parameter(names: &Names<'_>, receiver: Node<'_>) -> bool {
    let source = names.source();
    let mut at = receiver.parent();
    while let Some(node) = at {
        if node.kind() == "function_definition" && class_of(node).is_some() {
            let first = node.child_by_field_name("parameters").and_then(|it| {
                let first = children(it).find(|it| it.is_named() && it.kind() != "comment")?;
                if first.kind() == "typed_parameter" { first.named_child(0) } else { Some(first) }
            });
            let name = source.slice(receiver);
            return first.is_some_and(|it| it.kind() == "identifier" && source.slice(it) == name)
                && bindings(source, node, name) == 1
                && stays_a_method(names, node);
        }
        at = node.parent();
    }
    false
}

/// Whether nothing in its class makes another thing of `method` than a method.
fn stays_a_method(names: &Names<'_>, method: Node<'_>) -> bool {
    let source = names.source();
    let (Some(class), Some(name)) = (class_of(method), method.child_by_field_name("name")) else {
        return false;
    };
    let harmless = |decorator: Node<'_>| {
        let paths = names.resolve(decorator);
        match source.slice(decorator) {
            "property" | "classmethod" => true,
            "staticmethod" => derives_from(names, class, &FUNCTIONS),
            text if paths.is_empty() => text.ends_with(".setter") || text.ends_with(".deleter"),
            _ => paths.iter().all(|path| HARMLESS.contains(&path.as_str())),
        }
    };
    // `other = staticmethod(method)`.
    let reused = class.child_by_field_name("body").is_some_and(|body| {
        children(body)
            .filter(|it| it.kind() == "expression_statement")
            .flat_map(descendants)
            .any(|it| it.kind() == "identifier" && source.slice(it) == source.slice(name))
    });
    !reused && decorators(method).into_iter().all(harmless)
}

/// Whether one of the bases of `class` surely is one of `paths`.
pub(super) fn derives_from(names: &Names<'_>, class: Node<'_>, paths: &[&str]) -> bool {
    let bases = class.child_by_field_name("superclasses");
    bases.into_iter().flat_map(children).any(|base| {
        let resolved = names.resolve(base);
        !resolved.is_empty() && resolved.iter().all(|path| paths.contains(&path.as_str()))
    })
}

/// The functions directly in the body of `class`.
pub(super) fn methods(class: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let body = class.child_by_field_name("body");
    body.into_iter().flat_map(children).filter_map(|it| match it.kind() {
        "decorated_definition" => it
            .child_by_field_name("definition")
            .filter(|inner| inner.kind() == "function_definition"),
        "function_definition" => Some(it),
        _ => None,
    })
}

/// The class in whose body `function` directly is.
fn class_of(function: Node<'_>) -> Option<Node<'_>> {
    parent(function)
        .filter(|it| it.kind() == "block")?
        .parent()
        .filter(|it| it.kind() == "class_definition")
}

/// What a definition stands in, its decorators left aside.
fn parent(definition: Node<'_>) -> Option<Node<'_>> {
    definition.parent().and_then(|it| match it.kind() {
        "decorated_definition" => it.parent(),
        _ => Some(it),
    })
}

fn at_class_level(assignment: Node<'_>) -> bool {
    let block = assignment.parent().and_then(|it| it.parent());
    block.and_then(|it| it.parent()).is_some_and(|it| it.kind() == "class_definition")
}

/// The name that `self.register_buffer("mean", …)` gives.
fn registered<'s>(source: &'s Source, call: Node<'s>) -> Option<&'s str> {
    let callee = call.child_by_field_name("function")?.child_by_field_name("attribute")?;
    if !matches!(source.slice(callee), "register_buffer" | "register_parameter") {
        return None;
    }
    let name = call.child_by_field_name("arguments")?.named_child(0)?;
    (name.kind() == "string").then(|| source.slice(name).trim_matches(['"', '\'']))
}
