//! Message texts: unchanged, or in Base64 as some libraries send them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

/// The encoding of texts in messages.
#[derive(Args)]
pub struct Encoding {
    /// Encode texts in Base64, and decode them
    #[arg(long)]
    base64: bool,
}

impl Encoding {
    /// The text to send, encoded if requested.
    pub fn encode(&self, text: &str) -> String {
        if self.base64 { STANDARD.encode(text) } else { text.to_owned() }
    }

    /// The text of a received message, decoded if requested.
    pub fn decode(&self, text: &str) -> Result<String, String> {
        if !self.base64 {
            return Ok(text.to_owned());
        }
        let bytes = STANDARD.decode(text.trim()).map_err(|_| "a message is not Base64; omit --base64")?;
        String::from_utf8(bytes).map_err(|_| "a message is not Base64-encoded text; omit --base64".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_on_demand() {
        let (plain, base64) = (Encoding { base64: false }, Encoding { base64: true });
        assert_eq!((plain.encode("a&b"), base64.encode("a&b")), ("a&b".into(), "YSZi".into()));
        assert_eq!(base64.decode("YSZi").as_deref(), Ok("a&b"));
        assert!(base64.decode("a&b").is_err() && base64.decode("/w==").is_err());
    }
}
