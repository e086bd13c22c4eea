//! The least bytes that a call must move, as far as its inputs and outputs tell.

use std::collections::HashMap;

use serde_json::Value;

/// Every input read once and every output written once, mutated inputs both: the bytes of their
/// buffers in the referee's description of a case, without the red zones: as much as lies before a
/// tensor lies after it. `None` for a description without buffers.
pub(super) fn least_bytes(inputs: &Value) -> Option<u64> {
    let mut used = HashMap::new();
    for group in ["arguments", "parameters", "outputs", "mutated"] {
        buffers(&inputs[group], &mut used);
    }
    let bytes = inputs["buffers"].as_array()?.iter().filter_map(|buffer| {
        let guard = used.get(&buffer["buffer"].as_u64()?)?;
        Some(buffer["bytes"].as_u64()?.saturating_sub(2 * guard))
    });
    Some(bytes.sum()).filter(|bytes| *bytes > 0)
}

/// The buffers that a part of the description names, with where the tensor begins in each.
fn buffers(part: &Value, used: &mut HashMap<u64, u64>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| buffers(item, used)),
        Value::Object(fields) => {
            let offset = fields.get("offset").and_then(Value::as_u64).unwrap_or_default();
            used.extend(fields.get("buffer").and_then(Value::as_u64).map(|at| (at, offset)));
            fields.values().for_each(|item| buffers(item, used));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_and_outputs_count_once_and_mutated_inputs_twice() {
        let tensor = |buffer: u64| json!({"buffer": buffer, "shape": [4], "dtype": "float32"});
        let inputs = json!({
            "buffers": [
                {"buffer": 3, "bytes": 64}, {"buffer": 4, "bytes": 32}, {"buffer": 5, "bytes": 16},
                {"buffer": 6, "bytes": 208}, {"buffer": 7, "bytes": 1024},
            ],
            "arguments": [{"tensor": tensor(3)}, {"list": [{"tensor": tensor(4)}, {"value": 2}]}],
            "parameters": {"weight": {"tensor": tensor(5)}},
            "outputs": [{"buffer": 6, "offset": 100, "shape": [4], "dtype": "float32"}],
            "mutated": [],
            "cotangents": [tensor(7)],
        });
        assert_eq!(least_bytes(&inputs), Some(64 + 32 + 16 + 8));
        assert_eq!(least_bytes(&json!({})), None);
    }
}
