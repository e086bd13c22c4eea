//! Edits by byte span.

use std::ops::Range;

/// Replaces the bytes of `span` by `text`; an empty span inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Range<usize>,
    pub text: String,
}

impl Edit {
    pub fn replace(span: Range<usize>, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }

    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { span: at..at, text: text.into() }
    }
}

/// Two edits of one list change the same bytes, or an edit lies outside the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edits overlap or leave the text at byte {at}")]
pub struct EditConflict {
    pub at: usize,
}

/// Applies `edits`, given in any order, to `text`. Insertions at the same place keep their order.
pub fn apply_edits(text: &str, edits: &[Edit]) -> Result<String, EditConflict> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for edit in ordered {
        let conflict = EditConflict { at: edit.span.start };
        if edit.span.start < done || edit.span.end < edit.span.start {
            return Err(conflict);
        }
        result.push_str(text.get(done..edit.span.start).ok_or(conflict.clone())?);
        text.get(edit.span.clone()).ok_or(conflict)?;
        result.push_str(&edit.text);
        done = edit.span.end;
    }
    result.push_str(text.get(done..).ok_or(EditConflict { at: done })?);
    Ok(result)
}
