//! Launches of kernels: `kernel[grid](arguments…)`.

use tree_sitter::Node;

use super::{Function, Parameter, Source, children, descendants};

/// A call `kernel[grid](arguments…)` of a kernel that the source defines.
#[derive(Clone, Debug)]
pub struct Launch<'s> {
    /// The whole call.
    pub node: Node<'s>,
    pub kernel: Function<'s>,
    /// What stands between the brackets; a grid of several dimensions without parentheses
    /// (`kernel[m, n](…)`) is given by its first.
    pub grid: Node<'s>,
    /// The parenthesised arguments.
    pub list: Node<'s>,
    pub positional: Vec<Node<'s>>,
    pub keywords: Vec<Keyword<'s>>,
    /// The function that launches; `None` at module level.
    pub host: Option<Function<'s>>,
}

/// `name=value` in a call.
#[derive(Clone, Copy, Debug)]
pub struct Keyword<'s> {
    pub node: Node<'s>,
    pub name: &'s str,
    pub value: Node<'s>,
}

impl<'s> Launch<'s> {
    pub fn keyword(&self, name: &str) -> Option<Keyword<'s>> {
        self.keywords.iter().copied().find(|keyword| keyword.name == name)
    }

    /// Whether `*args` or `**kwargs` hide what is passed.
    pub fn has_splat(&self) -> bool {
        children(self.list).any(|node| matches!(node.kind(), "list_splat" | "dictionary_splat"))
    }

    /// What the kernel's parameters are given, in the parameters' order; those left to their
    /// default, to an autotuner or to a splat are missing.
    pub fn bindings(&self) -> Vec<(Parameter<'s>, Node<'s>)> {
        let shifted = children(self.list).any(|node| node.kind() == "list_splat");
        let given = |(index, parameter): (usize, Parameter<'s>)| {
            let by_name = self.keyword(parameter.name).map(|keyword| keyword.value);
            let by_position = self.positional.get(index).copied().filter(|_| !shifted);
            let value = by_position.or(by_name)?;
            Some((parameter, value))
        };
        self.kernel.parameters().into_iter().enumerate().filter_map(given).collect()
    }

    /// What the parameter `name` is given.
    pub fn binding(&self, name: &str) -> Option<Node<'s>> {
        let mut bindings = self.bindings().into_iter();
        bindings.find(|(parameter, _)| parameter.name == name).map(|(_, value)| value)
    }
}

impl Source {
    /// The launches of kernels defined here, in source order.
    pub fn launches(&self) -> Vec<Launch<'_>> {
        let kernels = self.kernels();
        let calls = descendants(self.root()).filter(|node| node.kind() == "call");
        calls.filter_map(|call| Launch::read(self, &kernels, call)).collect()
    }

    /// The innermost function around `node`.
    pub fn function_around<'s>(&'s self, node: Node<'s>) -> Option<Function<'s>> {
        // Downwards from the root, since asking a node for its parent walks this way every time.
        let span = node.byte_range();
        let mut cursor = self.root().walk();
        let mut innermost = None;
        while cursor.goto_first_child_for_byte(span.start).is_some() {
            let here = cursor.node();
            if here.id() == node.id() || here.end_byte() < span.end {
                break;
            }
            if here.kind() == "function_definition" {
                innermost = Some(Function { source: self, node: here });
            }
        }
        innermost
    }
}

impl<'s> Launch<'s> {
    fn read(source: &'s Source, kernels: &[Function<'s>], call: Node<'s>) -> Option<Self> {
        let subscript = call.child_by_field_name("function")?;
        if subscript.kind() != "subscript" {
            return None;
        }
        let name = source.slice(subscript.child_by_field_name("value")?);
        let kernel = *kernels.iter().find(|kernel| kernel.name() == name)?;
        let list = call.child_by_field_name("arguments")?;
        let mut positional = Vec::new();
        let mut keywords = Vec::new();
        for node in children(list).filter(|node| node.is_named() && node.kind() != "comment") {
            match node.kind() {
                "keyword_argument" => keywords.push(Keyword::read(source, node)?),
                "list_splat" | "dictionary_splat" => {}
                _ => positional.push(node),
            }
        }
        let grid = subscript.child_by_field_name("subscript")?;
        let host = source.function_around(call);
        Some(Self { node: call, kernel, grid, list, positional, keywords, host })
    }
}

impl<'s> Keyword<'s> {
    /// Reads a `keyword_argument` node.
    pub fn read(source: &'s Source, node: Node<'s>) -> Option<Self> {
        let name = source.slice(node.child_by_field_name("name")?);
        Some(Self { node, name, value: node.child_by_field_name("value")? })
    }
}

/// The keyword arguments of a call.
pub fn keywords<'s>(source: &'s Source, call: Node<'s>) -> Vec<Keyword<'s>> {
    let Some(list) = call.child_by_field_name("arguments") else { return Vec::new() };
    children(list)
        .filter(|node| node.kind() == "keyword_argument")
        .filter_map(|node| Keyword::read(source, node))
        .collect()
}

/// The positional arguments of a call; splats left out.
pub fn positional<'s>(call: Node<'s>) -> Vec<Node<'s>> {
    let Some(list) = call.child_by_field_name("arguments") else { return Vec::new() };
    let named = children(list).filter(|node| node.is_named());
    let skipped = ["keyword_argument", "list_splat", "dictionary_splat", "comment"];
    named.filter(|node| !skipped.contains(&node.kind())).collect()
}

/// The callee of a call without its module: `load` for `tl.load(…)`.
pub fn callee<'s>(source: &'s Source, call: Node<'s>) -> Option<&'s str> {
    let function = call.child_by_field_name("function")?;
    let name = source.slice(function);
    matches!(function.kind(), "identifier" | "attribute")
        .then(|| name.rsplit('.').next().unwrap_or(name).trim())
}

/// Whether `call` calls `name` of Triton's language: `tl.load(…)`, `triton.language.load(…)`.
pub fn is_language_call(source: &Source, call: Node<'_>, name: &str) -> bool {
    let Some(function) = call.child_by_field_name("function") else { return false };
    call.kind() == "call"
        && function.kind() == "attribute"
        && ["tl", "triton.language", "language"]
            .iter()
            .any(|module| source.slice(function) == format!("{module}.{name}"))
}

/// Where to insert an argument at the end of a call's list, and the text around `argument` that
/// keeps the list in its style: on one line, or on a line of its own after a trailing comma.
pub fn appended_argument(source: &Source, list: Node<'_>, argument: &str) -> (usize, String) {
    let tokens: Vec<Node<'_>> = children(list).filter(|node| node.kind() != "comment").collect();
    let last = tokens.iter().rev().nth(1).copied();
    match last {
        Some(token) if token.kind() == "," => {
            let before = tokens.iter().rev().nth(2).copied().unwrap_or(token);
            let own_line = before.start_position().row != list.start_position().row
                && list.end_position().row != token.end_position().row;
            let separator = if own_line {
                line_start(source.text(), before.start_byte())
            } else {
                " ".to_owned()
            };
            let comma = if own_line { "," } else { "" };
            (token.end_byte(), format!("{separator}{argument}{comma}"))
        }
        Some(token) if token.kind() != "(" => (token.end_byte(), format!(", {argument}")),
        _ => (list.start_byte() + 1, argument.to_owned()),
    }
}

/// The line break before the line of byte `at`, with that line's indentation.
fn line_start(text: &str, at: usize) -> String {
    let head = text.get(..at).unwrap_or_default();
    let start = head.rfind('\n').map_or(0, |newline| newline + 1);
    let ending =
        if head.get(..start).unwrap_or_default().ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = head.get(start..).unwrap_or_default();
    let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
    format!("{ending}{indent}")
}
