//! How long a text is to a model.

/// Bytes to a token: code has fewer than prose, and too many tokens counted costs less than too few.
const BYTES_PER_TOKEN: usize = 3;

/// Tokens of `text`, estimated without any model's vocabulary.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}
