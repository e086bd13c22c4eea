//! What recipes may rely on: shapes and integers of the contract's cases, as the referee made
//! them.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    evaluate::{Device, Plane},
    generate::recipe::{Argument, CaseFacts, Context, DeviceKind},
    kernel::{Contract, Target},
};

/// The context for recipes on `plane`, whose case `index` was laid out as `layouts[index]`.
pub(super) fn context(plane: &Plane, target: &Target, layouts: &[Value]) -> Context {
    let contract = plane.contract();
    let device = match plane.device() {
        Device::Cpu => DeviceKind::Cpu,
        Device::Cuda { .. } => DeviceKind::Cuda,
    };
    let cases = contract.cases.iter().zip(layouts);
    let cases = cases
        .map(|(case, layout)| CaseFacts { case: case.clone(), arguments: arguments(layout) })
        .collect();
    let editable = target.editable.clone();
    Context { cases, editable, entry: entry(target, contract), ..Context::new(device) }
}

/// The callable that the contract will take: the one that was named, else the first of the
/// preferred names that the source defines.
fn entry(target: &Target, contract: &Contract) -> Option<String> {
    if target.entry.function.is_some() {
        return target.entry.function.clone();
    }
    let source = crate::kernel::syntax::Source::parse(&*target.text).ok()?;
    contract.entries.iter().find(|name| source.function(name).is_some()).cloned()
}

/// The text of a contract: of a folder or a gpu-mode task, that of the reference in or beside it.
pub(super) fn contract_text(contract: &Path) -> Option<String> {
    let file = match contract.extension().and_then(|extension| extension.to_str()) {
        _ if contract.is_dir() => contract.join("reference.py"),
        Some("yml" | "yaml") => contract.with_file_name("reference.py"),
        _ => contract.to_owned(),
    };
    Some(String::from_utf8_lossy(&fs::read(file).ok()?).into_owned())
}

fn arguments(layout: &Value) -> Vec<Argument> {
    let listed = layout.get("arguments").and_then(Value::as_array);
    listed.into_iter().flatten().map(argument).collect()
}

fn argument(described: &Value) -> Argument {
    let integers = |value: &Value| -> Option<Vec<i64>> {
        value.as_array()?.iter().map(Value::as_i64).collect()
    };
    if let Some(tensor) = described.get("tensor") {
        let dtype = tensor["dtype"].as_str();
        if let (Some(dtype), Some(shape), Some(stride)) =
            (dtype, integers(&tensor["shape"]), integers(&tensor["stride"]))
        {
            return Argument::Tensor { dtype: dtype.to_owned(), shape, stride };
        }
    }
    described.get("value").and_then(Value::as_i64).map_or(Argument::Other, Argument::Integer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tensors_and_integers_are_read_and_the_rest_is_other() {
        let layout = json!({"arguments": [
            {"tensor": {"buffer": 0, "dtype": "float32", "shape": [2, 3], "stride": [3, 1]}},
            {"value": 8},
            {"value": 0.5},
            {"dict": {}},
        ]});
        let expected = [
            Argument::Tensor { dtype: "float32".into(), shape: vec![2, 3], stride: vec![3, 1] },
            Argument::Integer(8),
            Argument::Other,
            Argument::Other,
        ];
        assert_eq!(arguments(&layout), expected);
        assert!(arguments(&json!({})).is_empty());
    }
}
