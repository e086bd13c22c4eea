//! What may stand at the top of a file or in a class: definitions, not actions.

use tree_sitter::Node;

use super::Finding;
use super::builtins::shortened;
use super::names::Names;
use crate::kernel::syntax::{children, descendants};

pub(super) fn find(names: &Names<'_>, found: &mut Vec<Finding>) {
    let source = names.source();
    let mut blocks = vec![(source.root(), "the module is imported")];
    for class in descendants(source.root()).filter(|node| node.kind() == "class_definition") {
        blocks.extend(class.child_by_field_name("body").map(|body| (body, "its class is made")));
        found.extend(tensor_subclass(names, class));
    }
    for (block, when) in blocks {
        for statement in children(block).filter(|node| node.is_named()) {
            if defines(names, statement) {
                continue;
            }
            let text = source.slice(statement);
            found.push(Finding {
                key: format!("statement {text}"),
                line: source.line(statement),
                message: format!(
                    "`{}` runs when {when}: only imports, definitions and assignments may stand there",
                    shortened(text)
                ),
            });
        }
    }
}

fn defines(names: &Names<'_>, statement: Node<'_>) -> bool {
    match statement.kind() {
        "comment"
        | "import_statement"
        | "import_from_statement"
        | "future_import_statement"
        | "function_definition"
        | "class_definition"
        | "decorated_definition"
        | "type_alias_statement"
        | "pass_statement" => true,
        // Docstrings, `...`, and assignments to plain names (others are another rule's business).
        "expression_statement" => children(statement).filter(Node::is_named).all(|expression| {
            matches!(
                expression.kind(),
                "string"
                    | "concatenated_string"
                    | "ellipsis"
                    | "assignment"
                    | "augmented_assignment"
            ) || (expression.kind() == "call" && prepares(names, expression))
        }),
        // A choice between definitions, by device or version; conditions are expressions like
        // those on the right of an assignment.
        "if_statement" | "elif_clause" | "else_clause" | "try_statement" | "except_clause"
        | "finally_clause" | "for_statement"
            if blocks(statement).all(|block| {
                children(block).filter(Node::is_named).all(|inner| defines(names, inner))
            }) && clauses(statement).all(|clause| defines(names, clause)) =>
        {
            true
        }
        "assert_statement" => true,
        "if_statement" => {
            let condition = statement.child_by_field_name("condition");
            let text: String = condition
                .map_or("", |it| names.source().slice(it))
                .chars()
                .filter(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | '\'' | '"'))
                .collect();
            let never = matches!(
                text.as_str(),
                "TYPE_CHECKING" | "typing.TYPE_CHECKING" | "__name__==__main__"
            );
            never && statement.child_by_field_name("alternative").is_none()
        }
        _ => false,
    }
}

/// Blocks of a compound statement's own.
fn blocks<'s>(statement: Node<'s>) -> impl Iterator<Item = Node<'s>> {
    children(statement).filter(|node| node.kind() == "block")
}

/// Further branches of a compound statement.
fn clauses<'s>(statement: Node<'s>) -> impl Iterator<Item = Node<'s>> {
    let kinds = ["elif_clause", "else_clause", "except_clause", "finally_clause"];
    children(statement).filter(move |node| kinds.contains(&node.kind()))
}

/// Calls that fill a list of the file's own, or tell Triton where workspaces come from.
fn prepares(names: &Names<'_>, call: Node<'_>) -> bool {
    let Some(callee) = call.child_by_field_name("function") else { return false };
    let paths = names.resolve(callee);
    if !paths.is_empty() {
        return paths.iter().all(|path| path == "triton.set_allocator");
    }
    let Some(method) = callee.child_by_field_name("attribute") else { return false };
    let own = callee.child_by_field_name("object").is_some_and(|it| it.kind() == "identifier");
    let fills = ["append", "extend", "update", "setdefault", "add", "insert"];
    own && fills.contains(&names.source().slice(method))
}

/// A class derived from torch.Tensor, or one that intercepts torch's functions.
fn tensor_subclass(names: &Names<'_>, class: Node<'_>) -> Option<Finding> {
    let source = names.source();
    let name = source.slice(class.child_by_field_name("name")?);
    let is_tensor = |path: &String| path.ends_with("Tensor") && path.starts_with("torch.");
    // `type(x)` may be a tensor's.
    let asks = |base: Node<'_>| {
        base.child_by_field_name("function").is_some_and(|it| source.slice(it) == "type")
    };
    let derived = class.child_by_field_name("superclasses").is_some_and(|bases| {
        descendants(bases).any(|base| names.resolve(base).iter().any(is_tensor) || asks(base))
    });
    let intercepts = class.child_by_field_name("body").is_some_and(|body| {
        descendants(body).any(|node| {
            node.kind() == "identifier"
                && matches!(source.slice(node), "__torch_function__" | "__torch_dispatch__")
        })
    });
    (derived || intercepts).then(|| Finding {
        key: format!("tensor subclass {name}"),
        line: source.line(class),
        message: format!(
            "the class {name} stands in for a tensor: outputs must be plain tensors, so that \
             comparing them compares their values"
        ),
    })
}
