//! Whether a webhook comes from GitHub: HMAC-SHA256 over the bytes as they came, before anything
//! reads them.

use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// Why a delivery is not from GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("no X-Hub-Signature-256: give the App a webhook secret in its settings at GitHub")]
    Missing,
    #[error("X-Hub-Signature-256 is not `sha256=` and 64 hexadecimal digits")]
    Malformed,
    #[error("the signature fits none of the webhook secrets: compare with the App's settings")]
    Mismatch,
}

/// Whether `header` (`X-Hub-Signature-256`) signs `body` with one of `secrets`; there may be several
/// while one is being replaced. An empty secret signs nothing. Takes the same time for every wrong
/// signature.
pub fn verify(
    secrets: &[SecretString],
    body: &[u8],
    header: Option<&str>,
) -> Result<(), SignatureError> {
    let header = header.ok_or(SignatureError::Missing)?;
    let signature =
        header.strip_prefix("sha256=").and_then(decode).ok_or(SignatureError::Malformed)?;
    let mut fits = false;
    for secret in secrets {
        let secret = secret.expose_secret();
        // A key may have any length, so this is never an error.
        if let (false, Ok(mut mac)) =
            (secret.is_empty(), Hmac::<Sha256>::new_from_slice(secret.as_bytes()))
        {
            mac.update(body);
            fits |= mac.verify_slice(&signature).is_ok();
        }
    }
    if fits { Ok(()) } else { Err(SignatureError::Mismatch) }
}

fn decode(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From GitHub's page "Validating webhook deliveries".
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secrets(texts: &[&str]) -> Vec<SecretString> {
        texts.iter().map(|text| SecretString::from(*text)).collect()
    }

    #[test]
    fn githubs_own_example_fits() {
        assert_eq!(verify(&secrets(&[SECRET]), BODY, Some(SIGNATURE)), Ok(()));
    }

    #[test]
    fn while_a_secret_is_replaced_both_fit() {
        for both in [["new", SECRET], [SECRET, "new"]] {
            assert_eq!(verify(&secrets(&both), BODY, Some(SIGNATURE)), Ok(()));
        }
    }

    #[test]
    fn one_changed_byte_does_not_fit() {
        let known = secrets(&[SECRET]);
        assert_eq!(
            verify(&known, b"Hello, World?", Some(SIGNATURE)),
            Err(SignatureError::Mismatch)
        );
        let other = SIGNATURE.replace("757", "758");
        assert_eq!(verify(&known, BODY, Some(&other)), Err(SignatureError::Mismatch));
        assert_eq!(verify(&secrets(&["x"]), BODY, Some(SIGNATURE)), Err(SignatureError::Mismatch));
        assert_eq!(verify(&[], BODY, Some(SIGNATURE)), Err(SignatureError::Mismatch));
    }

    #[test]
    fn an_empty_secret_signs_nothing() {
        // The HMAC of BODY under an empty key.
        let mut mac = Hmac::<Sha256>::new_from_slice(b"").unwrap();
        mac.update(BODY);
        let hex: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
        let header = format!("sha256={hex}");
        assert_eq!(verify(&secrets(&[""]), BODY, Some(&header)), Err(SignatureError::Mismatch));
    }

    #[test]
    fn what_is_no_signature_is_said_to_be_none() {
        let known = secrets(&[SECRET]);
        assert_eq!(verify(&known, BODY, None), Err(SignatureError::Missing));
        let short = &SIGNATURE[..SIGNATURE.len() - 1];
        let umlauts = format!("sha256={}", "ü".repeat(32));
        let sha1 = SIGNATURE.replace("sha256", "sha1");
        for wrong in ["", "sha256=", short, &umlauts, &sha1, &SIGNATURE.replace('7', "g")] {
            assert_eq!(
                verify(&known, BODY, Some(wrong)),
                Err(SignatureError::Malformed),
                "{wrong}"
            );
        }
    }
}
