//! The least bytes that a call must move, as far as its inputs and outputs tell.

use std::collections::HashSet;

use serde_json::Value;

/// Every input read once and every output written once, mutated inputs both: the bytes of their
/// buffers in the referee's description of a case. `None` for a description without buffers.
pub(super) fn least_bytes(inputs: &Value) -> Option<u64> {
    let mut used = HashSet::new();
    for group in ["arguments", "parameters", "outputs", "mutated"] {
        buffers(&inputs[group], &mut used);
    }
    let bytes = inputs["buffers"].as_array()?.iter().filter_map(|buffer| {
        used.contains(&buffer["buffer"].as_u64()?).then(|| buffer["bytes"].as_u64())?
    });
    Some(bytes.sum()).filter(|bytes| *bytes > 0)
}

/// The numbers of the buffers that a part of the description names.
fn buffers(part: &Value, used: &mut HashSet<u64>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| buffers(item, used)),
        Value::Object(fields) => {
            used.extend(fields.get("buffer").and_then(Value::as_u64));
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
                {"buffer": 6, "bytes": 8}, {"buffer": 7, "bytes": 1024},
            ],
            "arguments": [{"tensor": tensor(3)}, {"list": [{"tensor": tensor(4)}, {"value": 2}]}],
            "parameters": {"weight": {"tensor": tensor(5)}},
            "outputs": [tensor(6)],
            "mutated": [],
            "cotangents": [tensor(7)],
        });
        assert_eq!(least_bytes(&inputs), Some(64 + 32 + 16 + 8));
        assert_eq!(least_bytes(&json!({})), None);
    }
}
