//! The sizes of a host function's tensors in one case, as far as its first statements tell.
//!
//! A small interpreter: shapes and integers of the entry's arguments are known, allocations and
//! shape arithmetic are followed, and whatever it does not understand is unknown.

use std::collections::HashMap;

use tree_sitter::Node;

use crate::generate::recipe::{Argument, CaseFacts, Context};
use crate::kernel::syntax::{Launch, Source, callee, children, descendants, integer, positional};

/// What names of the host function stand for, just before a launch.
#[derive(Debug)]
pub(super) struct Sizes<'s> {
    source: &'s Source,
    case: String,
    values: HashMap<&'s str, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Integer(i64),
    Tuple(Vec<i64>),
    Tensor { shape: Vec<i64>, stride: Vec<i64> },
}

impl<'s> Sizes<'s> {
    /// The sizes at `launch`, case by case; an error when the cases' inputs are not known.
    pub(super) fn at(
        source: &'s Source,
        launch: &Launch<'s>,
        context: &Context,
    ) -> Result<Vec<Self>, String> {
        let known = !context.cases.is_empty()
            && context.cases.iter().all(|case| !case.arguments.is_empty());
        if !known {
            return Err("the sizes of the cases' inputs are not known".to_owned());
        }
        let host = launch.host.filter(|host| Some(host.name()) == context.entry.as_deref());
        let host = host.ok_or("it is not launched by the entry itself")?;
        let parameters = host.parameters();
        let body = host.body().ok_or("the entry has no body")?;
        let of_case = |facts: &CaseFacts| {
            let mut sizes = Self { source, case: facts.case.name.clone(), values: HashMap::new() };
            for (parameter, argument) in parameters.iter().zip(&facts.arguments) {
                let value = match argument {
                    Argument::Tensor { shape, stride, .. } => {
                        Value::Tensor { shape: shape.clone(), stride: stride.clone() }
                    }
                    Argument::Integer(value) => Value::Integer(*value),
                    Argument::Other => continue,
                };
                sizes.values.insert(parameter.name, value);
            }
            for statement in children(body).filter(|it| it.is_named()) {
                if statement.end_byte() > launch.node.start_byte() {
                    // The launch may stand deeper; what is assigned around it is unknown.
                    if statement.kind() != "expression_statement" {
                        sizes.forget(statement);
                    }
                    break;
                }
                sizes.execute(statement);
            }
            sizes
        };
        Ok(context.cases.iter().map(of_case).collect())
    }

    pub(super) fn case(&self) -> &str {
        &self.case
    }

    /// How many elements lie between the first and the last of the tensor `name`, both included.
    pub(super) fn span(&self, name: &str) -> Option<i64> {
        let Value::Tensor { shape, stride } = self.values.get(name)? else { return None };
        shape.iter().zip(stride).try_fold(1_i64, |span, (extent, stride)| {
            let last = extent.saturating_sub(1).max(0);
            span.checked_add(last.checked_mul(stride.checked_abs()?)?)
        })
    }

    fn execute(&mut self, statement: Node<'s>) {
        let assignment = statement.named_child(0).filter(|it| it.kind() == "assignment");
        let parts = assignment.and_then(|it| {
            Some((it.child_by_field_name("left")?, it.child_by_field_name("right")?))
        });
        let Some((left, right)) = parts else { return self.forget(statement) };
        let value = self.evaluate(right);
        match left.kind() {
            "identifier" => self.bind(left, value),
            "pattern_list" | "tuple_pattern" => {
                let targets: Vec<Node<'s>> = children(left).filter(|it| it.is_named()).collect();
                // `(M, K), N = a.shape, b.shape[1]` has values of its own for each target.
                let listed: Vec<Node<'s>> = children(right).filter(|it| it.is_named()).collect();
                let apart = matches!(right.kind(), "expression_list" | "tuple")
                    && listed.len() == targets.len();
                for (index, target) in targets.into_iter().enumerate() {
                    let part = match &value {
                        _ if apart => listed.get(index).and_then(|it| self.evaluate(*it)),
                        Some(Value::Tuple(values)) => {
                            values.get(index).map(|it| Value::Integer(*it))
                        }
                        _ => None,
                    };
                    match (target.kind(), part) {
                        ("identifier", part) => self.bind(target, part),
                        ("tuple_pattern", Some(Value::Tuple(values))) => {
                            let inner = children(target).filter(|it| it.is_named());
                            for (name, value) in inner.zip(values) {
                                self.bind(name, Some(Value::Integer(value)));
                            }
                        }
                        _ => self.forget(target),
                    }
                }
            }
            _ => self.forget(statement),
        }
    }

    fn bind(&mut self, target: Node<'s>, value: Option<Value>) {
        let name = self.source.slice(target);
        match value {
            Some(value) if target.kind() == "identifier" => self.values.insert(name, value),
            _ => self.values.remove(name),
        };
    }

    /// Whatever `node` may assign to is unknown from here on.
    fn forget(&mut self, node: Node<'s>) {
        if node.kind() == "expression_statement"
            && node.named_child(0).is_some_and(|it| matches!(it.kind(), "call" | "string"))
        {
            return;
        }
        for name in descendants(node).filter(|it| it.kind() == "identifier") {
            self.values.remove(self.source.slice(name));
        }
    }

    fn evaluate(&self, node: Node<'s>) -> Option<Value> {
        match node.kind() {
            "identifier" => self.values.get(self.source.slice(node)).cloned(),
            "integer" => integer(self.source, node).map(Value::Integer),
            "parenthesized_expression" => self.evaluate(node.named_child(0)?),
            "tuple" | "list" | "expression_list" => self.tuple(children(node)).map(Value::Tuple),
            "binary_operator" => self.arithmetic(node).map(Value::Integer),
            "attribute" => {
                let Value::Tensor { shape, .. } = self.part(node, "object")? else { return None };
                (self.source.slice(node.child_by_field_name("attribute")?) == "shape")
                    .then_some(Value::Tuple(shape))
            }
            "subscript" => {
                let Value::Tuple(values) = self.part(node, "value")? else { return None };
                let text = self.source.slice(node.child_by_field_name("subscript")?);
                item(&values, text.parse().ok()?).map(Value::Integer)
            }
            "call" => self.call(node),
            _ => None,
        }
    }

    fn part(&self, node: Node<'s>, field: &str) -> Option<Value> {
        self.evaluate(node.child_by_field_name(field)?)
    }

    fn integer(&self, node: Node<'s>) -> Option<i64> {
        if let Value::Integer(value) = self.evaluate(node)? { Some(value) } else { None }
    }

    /// The integers of some expressions, tuples among them spread.
    fn tuple(&self, nodes: impl Iterator<Item = Node<'s>>) -> Option<Vec<i64>> {
        let mut all = Vec::new();
        for node in nodes.filter(|it| it.is_named() && it.kind() != "comment") {
            let spread = node.kind() == "list_splat";
            match self.evaluate(if spread { node.named_child(0)? } else { node })? {
                Value::Integer(value) if !spread => all.push(value),
                Value::Tuple(values) if spread => all.extend(values),
                _ => return None,
            }
        }
        Some(all)
    }

    fn arithmetic(&self, node: Node<'s>) -> Option<i64> {
        let left = self.integer(node.child_by_field_name("left")?)?;
        let right = self.integer(node.child_by_field_name("right")?)?;
        match node.child_by_field_name("operator")?.kind() {
            "+" => left.checked_add(right),
            "-" => left.checked_sub(right),
            "*" => left.checked_mul(right),
            // Python rounds down; for what is not negative that is the same.
            "//" if left >= 0 && right > 0 => Some(left / right),
            "%" if left >= 0 && right > 0 => Some(left % right),
            _ => None,
        }
    }

    fn call(&self, node: Node<'s>) -> Option<Value> {
        let arguments = positional(node);
        let name = callee(self.source, node)?;
        let function = node.child_by_field_name("function")?;
        match self.source.slice(function) {
            "torch.empty_like" | "torch.zeros_like" | "torch.ones_like" => {
                let Value::Tensor { shape, .. } = self.evaluate(*arguments.first()?)? else {
                    return None;
                };
                return contiguous(shape);
            }
            "torch.empty" | "torch.zeros" | "torch.ones" | "torch.full" => {
                return match self.evaluate(*arguments.first()?)? {
                    Value::Tuple(shape) => contiguous(shape),
                    Value::Integer(_) if name != "full" => {
                        contiguous(self.tuple(arguments.into_iter())?)
                    }
                    _ => None,
                };
            }
            "triton.cdiv" => {
                let (whole, part) =
                    (self.integer(*arguments.first()?)?, self.integer(*arguments.get(1)?)?);
                return (whole >= 0 && part > 0)
                    .then(|| Value::Integer(whole / part + i64::from(whole % part > 0)));
            }
            _ => {}
        }
        let Value::Tensor { shape, stride } = self.part(function, "object")? else { return None };
        let index = || self.integer(*arguments.first()?);
        match name {
            "contiguous" => contiguous(shape),
            "detach" => Some(Value::Tensor { shape, stride }),
            "numel" => {
                shape.iter().try_fold(1_i64, |all, it| all.checked_mul(*it)).map(Value::Integer)
            }
            "size" => item(&shape, index()?).map(Value::Integer),
            "stride" => item(&stride, index()?).map(Value::Integer),
            _ => None,
        }
    }
}

/// A tensor of this shape without gaps. `empty_like` and such keep a dense order of strides,
/// and `contiguous` makes this one: the span is the same.
fn contiguous(shape: Vec<i64>) -> Option<Value> {
    let mut stride = vec![1_i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        stride[axis - 1] = stride[axis].checked_mul(shape[axis].max(1))?;
    }
    Some(Value::Tensor { shape, stride })
}

/// The item at `index`, counted from the end when negative.
fn item(values: &[i64], index: i64) -> Option<i64> {
    let length = i64::try_from(values.len()).ok()?;
    let index = if index < 0 { index + length } else { index };
    values.get(usize::try_from(index).ok()?).copied()
}
