//! Which shared buffers there are for a case, as of the last time that the referee said so: a child
//! that opens them all before its turn need not wait for the driver in it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

/// The buffers of each case.
#[derive(Debug, Default)]
pub(super) struct Openings(Mutex<HashMap<usize, Value>>);

impl Openings {
    /// Takes down the buffers that `inputs`, what a child is told of a case, names.
    pub(super) fn note(&self, case: usize, inputs: &Value) {
        if let Some(buffers) = inputs.get("buffers") {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.get(&case) != Some(buffers) {
                known.insert(case, buffers.clone());
            }
        }
    }

    /// The layout of a case with the buffers that there are now.
    pub(super) fn of(&self, case: usize, mut layout: Value) -> Value {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((buffers, named)) = known.get(&case).zip(layout.get_mut("buffers")) {
            *named = buffers.clone();
        }
        layout
    }

    /// The buffers of several cases, given their layouts.
    pub(super) fn of_all(&self, layouts: impl IntoIterator<Item = (usize, Value)>) -> Value {
        let named = layouts.into_iter().filter_map(|(case, layout)| {
            match self.of(case, layout).get_mut("buffers").map(Value::take) {
                Some(Value::Array(buffers)) => Some(buffers),
                _ => None,
            }
        });
        Value::Array(named.flatten().collect())
    }

    /// A new referee has other ones.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_layout_gets_the_buffers_that_were_named_last() {
        let openings = Openings::default();
        let layout = json!({"arguments": [1], "buffers": [{"buffer": 0}]});
        assert_eq!(openings.of(2, layout.clone()), layout, "nothing is known yet");
        let grown = json!([{"buffer": 0}, {"buffer": 1}]);
        openings.note(2, &json!({"arguments": [7], "buffers": grown}));
        assert_eq!(openings.of(2, layout.clone()), json!({"arguments": [1], "buffers": grown}));
        assert_eq!(openings.of(3, layout.clone()), layout, "another case");
        let both = openings.of_all([(2, layout.clone()), (3, json!({"buffers": [{"buffer": 9}]}))]);
        assert_eq!(both, json!([{"buffer": 0}, {"buffer": 1}, {"buffer": 9}]));
        openings.forget();
        assert_eq!(openings.of(2, layout.clone()), layout);
    }
}
