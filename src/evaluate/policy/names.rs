//! What the names of a source stand for, as far as its imports tell.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::Node;

use super::imports::below;
use super::scopes::{Scopes, bindings};
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
    /// What is assigned to names without a call, where it is reached through an import: after
    /// `core = tl.core`, what `core` stands for. Scopes are left out of account.
    aliases: HashMap<&'s str, Vec<String>>,
    /// Functions decorated with `triton.jit`.
    kernels: Vec<Node<'s>>,
    /// The kernels' bodies, as byte spans.
    device_code: Vec<Range<usize>>,
    /// The kernels' decorators, and those of the baseline's kernels.
    decorators: HashSet<String>,
}

/// Decorators that make a function a kernel.
const JIT: [&str; 3] = ["triton.jit", "triton.runtime.jit.jit", "triton.experimental.gluon.jit"];

/// Decorators that leave it one.
const TUNING: [&str; 6] = [
    "triton.autotune",
    "triton.heuristics",
    "triton.runtime.autotune",
    "triton.runtime.autotuner.autotune",
    "triton.runtime.autotuner.heuristics",
    "triton.runtime.heuristics",
];

impl<'s> Names<'s> {
    /// A source that has no baseline.
    pub(super) fn of(source: &'s Source) -> Self {
        Self::read(source, Some(&HashSet::new()))
    }

    /// A baseline: whatever else decorates its kernels is its habit.
    pub(super) fn of_baseline(source: &'s Source) -> Self {
        Self::read(source, None)
    }

    /// A candidate beside its baseline.
    pub(super) fn beside(source: &'s Source, baseline: &Names<'_>) -> Self {
        Self::read(source, Some(&baseline.decorators))
    }

    fn read(source: &'s Source, usual: Option<&HashSet<String>>) -> Self {
        let imports: Vec<_> =
            descendants(source.root()).flat_map(|node| read_import(source, node)).collect();
        let mut paths: HashMap<&str, Vec<String>> = HashMap::new();
        for import in &imports {
            if let Some(bound) = import.bound {
                paths.entry(bound).or_default().push(import.path.clone());
            }
        }
        let mut names = Self {
            source,
            imports,
            paths,
            aliases: HashMap::new(),
            kernels: Vec::new(),
            device_code: Vec::new(),
            decorators: HashSet::new(),
        };
        names.follow_assignments();
        names.kernels = source
            .functions()
            .iter()
            .map(|function| function.node())
            .filter(|node| names.is_kernel(*node, usual))
            .collect();
        names.decorators = names
            .kernels
            .iter()
            .flat_map(|node| decorators(*node))
            .map(|decorator| names.meaning(decorator))
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
        self.path_of(node, |name| self.imported(name))
    }

    /// The paths that it may stand for through names that are assigned, not imported.
    pub(super) fn follow(&self, node: Node<'_>) -> Vec<String> {
        self.path_of(node, |name| self.aliases.get(name).map_or(&[], Vec::as_slice))
    }

    fn path_of<'n>(&'n self, node: Node<'_>, known: impl Fn(&str) -> &'n [String]) -> Vec<String> {
        let Some((root, attributes)) = chain(self.source, node) else { return Vec::new() };
        let joined = |root: &String| {
            let mut path = root.clone();
            for attribute in &attributes {
                path.push('.');
                path.push_str(attribute);
            }
            path
        };
        known(self.source.slice(root)).iter().map(joined).collect()
    }

    /// Fills `aliases`. Not with torch: of it only what is allowed can be assigned, no module.
    fn follow_assignments(&mut self) {
        let assigned: Vec<(&'s str, Node<'s>)> = descendants(self.source.root())
            .filter_map(|node| {
                let (name, value) = match node.kind() {
                    "assignment" => ("left", "right"),
                    "named_expression" => ("name", "value"),
                    _ => return None,
                };
                let name = node.child_by_field_name(name).filter(|it| it.kind() == "identifier")?;
                Some((self.source.slice(name), node.child_by_field_name(value)?))
            })
            .flat_map(|(name, value)| choices(value).into_iter().map(move |it| (name, it)))
            .collect();
        // Each round follows one assignment more; longer chains than this are circles.
        for _ in 0..8 {
            for (name, value) in &assigned {
                let mut paths = self.resolve(*value);
                paths.extend(self.follow(*value));
                paths.retain(|path| !below(path, "torch"));
                let known = self.aliases.entry(name).or_default();
                paths.retain(|path| !known.contains(path) && path.len() < 200);
                known.extend(paths);
            }
        }
    }

    /// Whether `function` is decorated by Triton and by nothing that may make another thing of
    /// it: after `@unjit` a kernel would be a function of the host again. `usual` are the
    /// baseline's decorators; `None` for the baseline itself.
    fn is_kernel(&self, function: Node<'s>, usual: Option<&HashSet<String>>) -> bool {
        let is_jit = |it: &Node<'s>| self.is_one_of(*it, &JIT);
        let harmless = |it: Node<'s>| {
            let Some(usual) = usual else { return true };
            is_jit(&it)
                || self.is_one_of(it, &TUNING)
                || usual.contains(&self.meaning(it))
                || (self.source.slice(it) == "staticmethod"
                    && bindings(self.source, self.source.root(), "staticmethod") == 0)
        };
        decorators(function).iter().any(is_jit) && decorators(function).into_iter().all(harmless)
    }

    /// Whether `decorator` surely is one of `paths`: no function around it binds its name.
    fn is_one_of(&self, decorator: Node<'s>, paths: &[&str]) -> bool {
        let resolved = self.resolve(decorator);
        let own = chain(self.source, decorator).is_some_and(|(root, _)| {
            Scopes::of(self.source).shadowed(root, self.source.slice(root))
        });
        !own && !resolved.is_empty() && resolved.iter().all(|path| paths.contains(&path.as_str()))
    }

    /// What a decorator is: the path of an imported one, the definitions of one of this file.
    fn meaning(&self, decorator: Node<'_>) -> String {
        let text = self.source.slice(decorator);
        let paths = self.resolve(decorator);
        if !paths.is_empty() {
            return paths.join(" ");
        }
        let root = chain(self.source, decorator).map_or(text, |(root, _)| self.source.slice(root));
        let definitions = descendants(self.source.root()).filter(|node| {
            let name = match node.kind() {
                "function_definition" | "class_definition" => node.child_by_field_name("name"),
                "assignment" => node.child_by_field_name("left"),
                _ => None,
            };
            name.is_some_and(|it| self.source.slice(it) == root)
        });
        let mut meaning = text.to_owned();
        for definition in definitions {
            meaning.push('\n');
            meaning.push_str(self.source.slice(definition));
        }
        meaning
    }
}

/// The identifier at which an attribute chain begins, and the attributes.
pub(super) fn chain<'s, 't>(
    source: &'s Source,
    node: Node<'t>,
) -> Option<(Node<'t>, Vec<&'s str>)> {
    let mut attributes = Vec::new();
    let mut at = node;
    loop {
        match at.kind() {
            "identifier" => break,
            "attribute" => {
                attributes.push(source.slice(at.child_by_field_name("attribute")?));
                at = at.child_by_field_name("object")?;
            }
            "parenthesized_expression" => at = at.named_child(0)?,
            _ => return None,
        }
    }
    attributes.reverse();
    Some((at, attributes))
}

/// The expressions of which `value` is one: both sides of a choice.
fn choices(value: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut stack = vec![value];
    while let Some(node) = stack.pop() {
        match node.kind() {
            "conditional_expression" | "boolean_operator" | "parenthesized_expression" => {
                stack.extend((0..node.named_child_count()).filter_map(|at| node.named_child(at)));
            }
            // `a = b = tl.core` and `a = (b := tl.core)`.
            "assignment" => stack.extend(node.child_by_field_name("right")),
            "named_expression" => stack.extend(node.child_by_field_name("value")),
            "identifier" | "attribute" => found.push(node),
            _ => {}
        }
    }
    found
}

/// What decorates a function; where that is a call, what is called.
pub(super) fn decorators(function: Node<'_>) -> Vec<Node<'_>> {
    let Some(parent) = function.parent().filter(|it| it.kind() == "decorated_definition") else {
        return Vec::new();
    };
    children(parent)
        .filter(|child| child.kind() == "decorator")
        .filter_map(|decorator| {
            let mut parts =
                (0..decorator.named_child_count()).filter_map(|at| decorator.named_child(at));
            let expression = parts.find(|it| it.kind() != "comment")?;
            Some(match expression.kind() {
                "call" => expression.child_by_field_name("function").unwrap_or(expression),
                _ => expression,
            })
        })
        .collect()
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
