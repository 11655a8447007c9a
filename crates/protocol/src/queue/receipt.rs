//! Pop receipts as text: URL-safe Base64 of the time of next visibility, the sequence number and the nonce.
//!
//! The alphabet needs no escapes in a URL, so clients that forget to escape receipts work. They are opaque to
//! clients.

use base64::Engine as _;
use base64::alphabet::{STANDARD as STANDARD_ALPHABET, URL_SAFE as URL_SAFE_ALPHABET};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use lazuli_model::queue::Receipt;
use lazuli_model::{DateTime, Failure};

use crate::http::params::invalid_because;

/// Length of a receipt in bytes: three numbers of 8 bytes.
const BYTES: usize = 24;
/// Length of a receipt that Azure issues for a message that was put or dequeued.
const FOREIGN_BYTES: usize = 20;
/// Length of a receipt as a string.
const TEXT_BYTES: usize = BYTES / 3 * 4;

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_encode_padding(false)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE_ALPHABET, CONFIG);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&STANDARD_ALPHABET, CONFIG);

/// A receipt as a string, without allocation: responses contain up to 32 of them.
pub struct ReceiptText([u8; TEXT_BYTES]);

impl ReceiptText {
    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The receipt as text.
pub fn encode(receipt: &Receipt) -> ReceiptText {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&receipt.next_visible.ticks().to_be_bytes());
    bytes[8..16].copy_from_slice(&receipt.sequence.to_be_bytes());
    bytes[16..].copy_from_slice(&receipt.nonce.to_be_bytes());
    let mut text = [0; TEXT_BYTES];
    let written = URL_SAFE.encode_slice(bytes, &mut text);
    debug_assert_eq!(written, Ok(TEXT_BYTES));
    ReceiptText(text)
}

/// Parses a receipt. A string in the format of Azure's receipts is well-formed, but matches no message.
pub fn decode(text: &str) -> Result<Receipt, Failure> {
    let malformed = || invalid_because("popreceipt", text, "Invalid pop receipt format");
    if text.len() > TEXT_BYTES {
        return Err(malformed());
    }
    // A plus sign that the client did not escape has become a space.
    let plain = text.replace(' ', "+");
    let bytes = URL_SAFE.decode(&plain).or_else(|_| STANDARD.decode(&plain)).map_err(|_| malformed())?;
    match bytes.len() {
        BYTES => Ok(from_bytes(&bytes).unwrap_or(NOBODY)),
        FOREIGN_BYTES => Ok(NOBODY),
        _ => Err(malformed()),
    }
}

/// Is the string Base64 with correct padding?
pub fn is_base64(text: &str) -> bool {
    base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

/// A receipt that matches no message: messages become visible after the year 1.
const NOBODY: Receipt = Receipt { next_visible: DateTime::MIN, sequence: 0, nonce: 0 };

fn from_bytes(bytes: &[u8]) -> Option<Receipt> {
    let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
    Some(Receipt {
        next_visible: DateTime::from_ticks(number(0)?)?,
        sequence: number(8)?,
        nonce: number(16)?,
    })
}

#[cfg(test)]
mod tests {
    use lazuli_model::ErrorCode;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// QU-03: a receipt survives a round trip through a URL.
        #[test]
        fn receipts_survive(ticks in 0..=DateTime::MAX.ticks(), sequence: u64, nonce: u64) {
            let receipt = Receipt { next_visible: DateTime::from_ticks(ticks).unwrap(), sequence, nonce };
            let text = encode(&receipt);
            prop_assert!(text.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
            prop_assert_eq!(decode(text.as_str()), Ok(receipt));
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,40}") {
            let _ = decode(&text);
        }
    }

    /// QU-03.
    #[test]
    fn malformed_receipts() {
        for bad in ["", "x", "invalid", "****", "AAAA", &"A".repeat(40), "AgAAAAMAAAAAAAAAM5ZH9KUg0Q=="] {
            let failure = decode(bad).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidQueryParameterValue, "{bad}");
            assert_eq!(
                failure.details,
                [
                    ("QueryParameterName", "popreceipt".into()),
                    ("QueryParameterValue", bad.to_owned().into()),
                    ("Reason", "Invalid pop receipt format".into())
                ]
            );
        }
    }

    /// Receipts of another service are well-formed: the message is not found.
    #[test]
    fn foreign_receipts() {
        for text in ["AgAAAAMAAAAAAAAAM5ZH9KUg0QE=", "AwAAAAMAAAAAAAAA2uOgx5Ib0wEBAAAA", &"_".repeat(32)] {
            assert!(decode(text).is_ok(), "{text}");
        }
        assert_eq!(decode("AgAAAAMAAAAAAAAAwkAI 6Ug0QE="), Ok(NOBODY));
    }
}
