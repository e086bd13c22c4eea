//! `@triton.autotune(configs=[triton.Config({…}, num_warps=4), …])` of a kernel.

mod comprehension;

use tree_sitter::Node;

use crate::kernel::syntax::{Function, Source, callee, children, keywords, positional};

/// An autotuner whose configurations its decorator tells, by lists of them and by comprehensions over
/// lists of numbers.
pub(super) struct Tuner<'s> {
    pub kernel: Function<'s>,
    /// The decorator, with its `@`.
    pub decorator: Node<'s>,
    pub configs: Vec<Config<'s>>,
    /// The lists and comprehensions that make them; `+` joins them.
    pub lists: Vec<Node<'s>>,
}

impl<'s> Tuner<'s> {
    /// The list that has a place of its own for every configuration.
    pub(super) fn written_out(&self) -> Option<Node<'s>> {
        match self.lists[..] {
            [list] if list.kind() == "list" => Some(list),
            _ => None,
        }
    }
}

/// One `triton.Config`.
pub(super) struct Config<'s> {
    /// Where it is made; by a comprehension, many at the same place.
    pub node: Node<'s>,
    /// How the source calls it: `triton.Config`.
    pub constructor: &'s str,
    /// Metaparameters and their values, as written.
    pub meta: Vec<(String, &'s str)>,
    /// `num_warps`, `num_stages` and so on, as written.
    pub options: Vec<(String, &'s str)>,
}

/// The autotuners of a source, in its order.
pub(super) fn tuners(source: &Source) -> Vec<Tuner<'_>> {
    source.kernels().into_iter().filter_map(|kernel| read(source, kernel)).collect()
}

fn read<'s>(source: &'s Source, kernel: Function<'s>) -> Option<Tuner<'s>> {
    let decorated = kernel.node().parent().filter(|p| p.kind() == "decorated_definition")?;
    let decorator = children(decorated).filter(|node| node.kind() == "decorator").find(|node| {
        let call = node.named_child(0).filter(|call| call.kind() == "call");
        call.and_then(|call| callee(source, call)) == Some("autotune")
    })?;
    let call = decorator.named_child(0)?;
    let by_name = keywords(source, call).into_iter().find(|k| k.name == "configs");
    let given = by_name.map(|k| k.value).or_else(|| positional(call).first().copied())?;
    let lists = joined(source, given)?;
    let mut configs = Vec::new();
    for list in &lists {
        configs.extend(match list.kind() {
            "list" => listed(source, *list)?,
            _ => comprehension::expand(source, *list)?,
        });
    }
    Some(Tuner { kernel, decorator, configs, lists })
}

fn listed<'s>(source: &'s Source, list: Node<'s>) -> Option<Vec<Config<'s>>> {
    let items = children(list).filter(|node| node.is_named() && node.kind() != "comment");
    items.map(|node| Config::read(source, node)).collect()
}

/// The operands of `list + list + …`.
fn joined<'s>(source: &'s Source, node: Node<'s>) -> Option<Vec<Node<'s>>> {
    let is_list = |node: &Node<'s>| matches!(node.kind(), "list" | "list_comprehension");
    let (mut first, mut later) = (node, Vec::new());
    while first.kind() == "binary_operator" {
        let field = |name| first.child_by_field_name(name);
        field("operator").filter(|operator| source.slice(*operator) == "+")?;
        later.push(field("right").filter(is_list)?);
        first = field("left")?;
    }
    let first = Some(first).filter(is_list)?;
    Some(std::iter::once(first).chain(later.into_iter().rev()).collect())
}

impl<'s> Config<'s> {
    /// `None` for what is not a call of `Config` with a dictionary that is written out.
    fn read(source: &'s Source, node: Node<'s>) -> Option<Self> {
        if node.kind() != "call" || callee(source, node) != Some("Config") {
            return None;
        }
        let arguments = positional(node);
        let named = keywords(source, node);
        let dictionary = arguments.first().copied().or_else(|| {
            named.iter().find(|keyword| keyword.name == "kwargs").map(|keyword| keyword.value)
        })?;
        if dictionary.kind() != "dictionary" || arguments.len() > 1 {
            return None;
        }
        let pairs = children(dictionary).filter(|pair| pair.is_named() && pair.kind() != "comment");
        let meta = pairs
            .map(|pair| {
                let key = pair.child_by_field_name("key").filter(|key| key.kind() == "string")?;
                let value = pair.child_by_field_name("value")?;
                Some((source.slice(key).trim_matches(['"', '\'']).to_owned(), source.slice(value)))
            })
            .collect::<Option<Vec<_>>>()?;
        let options = named
            .iter()
            .filter(|keyword| keyword.name != "kwargs")
            .map(|keyword| (keyword.name.to_owned(), source.slice(keyword.value)))
            .collect();
        let constructor = source.slice(node.child_by_field_name("function")?);
        Some(Self { node, constructor, meta, options })
    }

    /// The same with the value of each name that `setting` lists.
    fn with(&self, setting: &[(&str, &'s str)]) -> Self {
        let set = |pairs: &[(String, &'s str)]| {
            let value = |written: &'s str| {
                setting
                    .iter()
                    .find(|(name, _)| *name == written)
                    .map_or(written, |(_, value)| *value)
            };
            pairs.iter().map(|(name, written)| (name.clone(), value(written))).collect()
        };
        let (meta, options) = (set(&self.meta), set(&self.options));
        Self { node: self.node, constructor: self.constructor, meta, options }
    }

    /// `BLOCK=128 num_warps=4`
    pub(super) fn describe(&self) -> String {
        let parts = self.meta.iter().chain(&self.options);
        parts.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}
