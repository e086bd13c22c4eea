//! Python source as a syntax tree (tree-sitter), and edits by byte span.
//!
//! Whatever an edit does not touch stays byte for byte: candidates are judged, reviewed
//! and suggested as patches, so a reformatted line would be noise.

mod constant;
mod edit;
mod launch;

pub use constant::{Constant, integer};
pub use edit::{Edit, EditConflict, apply_edits};
pub use launch::{
    Keyword, Launch, appended_argument, callee, is_language_call, keywords, positional,
};

use tree_sitter::{Node, Parser, Tree};

/// A parsed Python source.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    tree: Tree,
}

/// The first place where a source is not Python.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: not valid Python near `{excerpt}`")]
pub struct SyntaxError {
    /// From 1.
    pub line: u32,
    pub excerpt: String,
}

impl Source {
    /// Parses `text`; the error names the first line that is not Python.
    pub fn parse(text: impl Into<String>) -> Result<Self, SyntaxError> {
        let text = text.into();
        let mut parser = Parser::new();
        let language = tree_sitter_python::LANGUAGE.into();
        let failed = || SyntaxError { line: 1, excerpt: String::new() };
        parser.set_language(&language).map_err(|_| failed())?;
        let tree = parser.parse(&text, None).ok_or_else(failed)?;
        if tree.root_node().has_error() {
            return Err(first_error(tree.root_node(), &text).unwrap_or_else(failed));
        }
        Ok(Self { text, tree })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The text of `node`.
    pub fn slice(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The line of `node`, from 1.
    pub fn line(&self, node: Node<'_>) -> u32 {
        u32::try_from(node.start_position().row + 1).unwrap_or(u32::MAX)
    }

    /// All function definitions, nested ones too, in source order.
    pub fn functions(&self) -> Vec<Function<'_>> {
        let mut found = Vec::new();
        // Definitions are statements: nobody needs to look into expressions, which are most of a source.
        let mut stack = vec![self.root()];
        while let Some(node) = stack.pop() {
            if node.kind() == "function_definition" {
                found.push(Function { source: self, node });
            }
            if HOLDS_STATEMENTS.contains(&node.kind()) {
                stack.extend(children(node).rev());
            }
        }
        found
    }

    /// The functions decorated with `@triton.jit` (or `@jit`, or under `@triton.autotune` and such).
    pub fn kernels(&self) -> Vec<Function<'_>> {
        self.functions().into_iter().filter(Function::is_jit).collect()
    }

    /// The function called `name`.
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        self.functions().into_iter().find(|function| function.name() == name)
    }

    /// The names that a top-level statement defines.
    pub fn symbols_of<'s>(&'s self, statement: Node<'s>) -> Vec<&'s str> {
        let definition = match statement.kind() {
            "decorated_definition" => statement.child_by_field_name("definition"),
            "expression_statement" => statement.named_child(0),
            _ => Some(statement),
        };
        let Some(definition) = definition else { return Vec::new() };
        let name = definition
            .child_by_field_name("name")
            .or_else(|| definition.child_by_field_name("left"))
            .map(|name| self.slice(name));
        name.map(|name| name.split(',').map(str::trim).collect()).unwrap_or_default()
    }

    /// All names that are defined at the top and not imported, in source order.
    pub fn symbols(&self) -> Vec<&str> {
        let own = children(self.root()).filter(|statement| !statement.kind().contains("import"));
        own.flat_map(|statement| self.symbols_of(statement)).collect()
    }

    /// The source after `edits`.
    pub fn edited(&self, edits: &[Edit]) -> Result<String, EditConflict> {
        apply_edits(&self.text, edits)
    }
}

/// Kinds of nodes below which statements stand.
const HOLDS_STATEMENTS: [&str; 17] = [
    "module",
    "block",
    "decorated_definition",
    "function_definition",
    "class_definition",
    "if_statement",
    "elif_clause",
    "else_clause",
    "for_statement",
    "while_statement",
    "try_statement",
    "except_clause",
    "except_group_clause",
    "finally_clause",
    "with_statement",
    "match_statement",
    "case_clause",
];

/// A function definition in a [`Source`].
#[derive(Clone, Copy, Debug)]
pub struct Function<'s> {
    source: &'s Source,
    node: Node<'s>,
}

impl<'s> Function<'s> {
    pub fn node(&self) -> Node<'s> {
        self.node
    }

    pub fn name(&self) -> &'s str {
        self.node.child_by_field_name("name").map_or("", |name| self.source.slice(name))
    }

    pub fn body(&self) -> Option<Node<'s>> {
        self.node.child_by_field_name("body")
    }

    /// Texts of the decorators' expressions, without `@`, the outermost first.
    pub fn decorators(&self) -> Vec<&'s str> {
        let Some(parent) = self.node.parent().filter(|p| p.kind() == "decorated_definition") else {
            return Vec::new();
        };
        children(parent)
            .filter(|child| child.kind() == "decorator")
            .filter_map(|decorator| decorator.named_child(0))
            .map(|expression| self.source.slice(expression))
            .collect()
    }

    /// Whether a decorator is `triton.jit`, `jit`, or a call of one of them.
    pub fn is_jit(&self) -> bool {
        self.decorators().iter().any(|text| {
            let callee = text.split('(').next().unwrap_or(text).trim();
            callee == "jit" || callee.ends_with(".jit")
        })
    }

    pub fn parameters(&self) -> Vec<Parameter<'s>> {
        let Some(list) = self.node.child_by_field_name("parameters") else {
            return Vec::new();
        };
        children(list).filter_map(|node| Parameter::read(self.source, node)).collect()
    }
}

/// A parameter of a [`Function`].
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'s> {
    /// The whole parameter: name, annotation and default.
    pub node: Node<'s>,
    pub name: &'s str,
    pub annotation: Option<&'s str>,
    pub default: Option<Node<'s>>,
}

impl<'s> Parameter<'s> {
    fn read(source: &'s Source, node: Node<'s>) -> Option<Self> {
        let name = match node.kind() {
            "identifier" => node,
            "typed_parameter" => node.named_child(0)?,
            "default_parameter" | "typed_default_parameter" => node.child_by_field_name("name")?,
            _ => return None,
        };
        Some(Self {
            node,
            name: source.slice(name),
            annotation: node.child_by_field_name("type").map(|kind| source.slice(kind)),
            default: node.child_by_field_name("value"),
        })
    }

    /// Whether it is annotated `tl.constexpr`.
    pub fn is_constexpr(&self) -> bool {
        self.annotation.is_some_and(|text| text == "constexpr" || text.ends_with(".constexpr"))
    }
}

/// The children of `node`, tokens included.
pub fn children<'t>(node: Node<'t>) -> impl DoubleEndedIterator<Item = Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect::<Vec<_>>().into_iter()
}

/// `node` and everything below it, in source order.
pub fn descendants<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let mut cursor = node.walk();
    let mut more = true;
    std::iter::from_fn(move || {
        let next = more.then(|| cursor.node())?;
        more = cursor.goto_first_child()
            || loop {
                if cursor.goto_next_sibling() {
                    break true;
                }
                if !cursor.goto_parent() {
                    break false;
                }
            };
        Some(next)
    })
}

fn first_error(root: Node<'_>, text: &str) -> Option<SyntaxError> {
    let node = descendants(root).find(|node| node.is_error() || node.is_missing())?;
    let row = node.start_position().row;
    let excerpt = text.lines().nth(row).unwrap_or_default().trim();
    Some(SyntaxError {
        line: u32::try_from(row + 1).unwrap_or(u32::MAX),
        excerpt: excerpt.chars().take(80).collect(),
    })
}

#[cfg(test)]
mod tests;
