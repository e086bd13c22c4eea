//! What the names of a source stand for, as far as its imports tell.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use crate::kernel::syntax::{Source, children, descendants};

/// One name that an import statement brings in.
#[derive(Clone, Debug)]
pub(super) struct Import<'s> {
    pub node: Node<'s>,
    /// The module that is imported, or imported from; with leading dots when relative.
    pub module: String,
    /// The member imported from it, `*` for all; `None` for `import module`.
    pub member: Option<String>,
    /// The name that it binds.
    pub bound: Option<&'s str>,
    /// The dotted path that the bound name stands for.
    pub path: String,
}

/// A source with its imports resolved.
#[derive(Debug)]
pub(super) struct Names<'s> {
    source: &'s Source,
    imports: Vec<Import<'s>>,
    /// A name may be imported more than once, for example in both arms of a `try`.
    paths: HashMap<&'s str, Vec<String>>,
    /// Functions decorated with `triton.jit`.
    kernels: Vec<Node<'s>>,
    /// The kernels' bodies, as byte spans.
    device_code: Vec<Range<usize>>,
}

/// Decorators that make a function a kernel.
const JIT: [&str; 3] = ["triton.jit", "triton.runtime.jit.jit", "triton.experimental.gluon.jit"];

impl<'s> Names<'s> {
    pub(super) fn of(source: &'s Source) -> Self {
        let imports: Vec<_> =
            descendants(source.root()).flat_map(|node| read_import(source, node)).collect();
        let mut paths: HashMap<&str, Vec<String>> = HashMap::new();
        for import in &imports {
            if let Some(bound) = import.bound {
                paths.entry(bound).or_default().push(import.path.clone());
            }
        }
        let (kernels, device_code) = (Vec::new(), Vec::new());
        let mut names = Self { source, imports, paths, kernels, device_code };
        names.kernels = source
            .functions()
            .iter()
            .map(|function| function.node())
            .filter(|node| names.is_kernel(*node))
            .collect();
        names.device_code = names
            .kernels
            .iter()
            .filter_map(|node| node.child_by_field_name("body"))
            .map(|body| body.byte_range())
            .collect();
        names
    }

    pub(super) fn source(&self) -> &'s Source {
        self.source
    }

    pub(super) fn imports(&self) -> &[Import<'s>] {
        &self.imports
    }

    /// The functions decorated with `triton.jit`, by what the decorator resolves to.
    pub(super) fn kernels(&self) -> &[Node<'s>] {
        &self.kernels
    }

    /// Whether `node` lies in the body of a kernel.
    pub(super) fn on_device(&self, node: Node<'_>) -> bool {
        self.device_code.iter().any(|body| body.contains(&node.start_byte()))
    }

    /// What the imports say that the bare `name` stands for.
    pub(super) fn imported(&self, name: &str) -> &[String] {
        self.paths.get(name).map_or(&[], Vec::as_slice)
    }

    /// The dotted paths that an identifier or an attribute chain stands for; empty when it does
    /// not start at an imported name.
    pub(super) fn resolve(&self, node: Node<'_>) -> Vec<String> {
        let mut attributes = Vec::new();
        let mut at = node;
        loop {
            match at.kind() {
                "identifier" => break,
                "attribute" => {
                    let Some(name) = at.child_by_field_name("attribute") else { return Vec::new() };
                    attributes.push(self.source.slice(name));
                    let Some(object) = at.child_by_field_name("object") else { return Vec::new() };
                    at = object;
                }
                "parenthesized_expression" => {
                    let Some(inner) = at.named_child(0) else { return Vec::new() };
                    at = inner;
                }
                _ => return Vec::new(),
            }
        }
        attributes.reverse();
        let joined = |root: &String| {
            let mut path = root.clone();
            for attribute in &attributes {
                path.push('.');
                path.push_str(attribute);
            }
            path
        };
        self.imported(self.source.slice(at)).iter().map(joined).collect()
    }

    fn is_kernel(&self, function: Node<'_>) -> bool {
        let Some(parent) = function.parent().filter(|it| it.kind() == "decorated_definition")
        else {
            return false;
        };
        children(parent).filter(|child| child.kind() == "decorator").any(|decorator| {
            let Some(expression) = decorator.named_child(0) else { return false };
            let callee = expression.child_by_field_name("function").unwrap_or(expression);
            self.resolve(callee).iter().any(|path| JIT.contains(&path.as_str()))
        })
    }
}

fn read_import<'s>(source: &'s Source, node: Node<'s>) -> Vec<Import<'s>> {
    match node.kind() {
        "import_statement" => named(source, node)
            .map(|(name, alias)| Import {
                node,
                module: name.to_owned(),
                member: None,
                bound: alias.or(name.split('.').next()),
                path: match alias {
                    Some(_) => name.to_owned(),
                    None => name.split('.').next().unwrap_or(name).to_owned(),
                },
            })
            .collect(),
        "import_from_statement" => {
            let module =
                node.child_by_field_name("module_name").map_or("", |module| source.slice(module));
            let module: String = module.split_whitespace().collect();
            let from = |member: &str, bound| Import {
                node,
                module: module.clone(),
                member: Some(member.to_owned()),
                bound,
                path: if module.ends_with('.') {
                    format!("{module}{member}")
                } else {
                    format!("{module}.{member}")
                },
            };
            if children(node).any(|child| child.kind() == "wildcard_import") {
                return vec![from("*", None)];
            }
            named(source, node).map(|(name, alias)| from(name, alias.or(Some(name)))).collect()
        }
        _ => Vec::new(),
    }
}

/// The `name as alias` pairs of an import statement.
fn named<'s>(
    source: &'s Source,
    node: Node<'s>,
) -> impl Iterator<Item = (&'s str, Option<&'s str>)> {
    let mut cursor = node.walk();
    let nodes: Vec<_> = node.children_by_field_name("name", &mut cursor).collect();
    nodes.into_iter().map(|name| {
        if name.kind() != "aliased_import" {
            return (source.slice(name), None);
        }
        let part = |field| name.child_by_field_name(field).map(|it| source.slice(it));
        (part("name").unwrap_or_default(), part("alias"))
    })
}
