//! The 16-byte identifier type, in the only string format that the service reads and writes.
//!
//! No library is used, because its order is that of .NET (three integers, then bytes), and because the row
//! format and the string format are wire bytes.

use std::fmt;
use std::str::FromStr;

/// A GUID. The bytes are in the order of the string, so that comparing them compares Data1, Data2, Data3 and
/// then the rest, as .NET does.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::Guid;
///
/// let id: Guid = "C9DA6455-213D-42C9-9A79-3E9149A57833".parse()?;
/// assert_eq!(id.to_string(), "c9da6455-213d-42c9-9a79-3e9149a57833");
/// assert_eq!(id.0[..2], [0xc9, 0xda]);
/// # Ok::<(), lazuli_client::GuidError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u8; 16]);

/// The string does not have the format `c9da6455-213d-42c9-9a79-3e9149a57833`.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{Guid, GuidError};
///
/// assert_eq!("{c9da6455-213d-42c9-9a79-3e9149a57833}".parse::<Guid>(), Err(GuidError));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuidError;

impl fmt::Display for GuidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a GUID of the form c9da6455-213d-42c9-9a79-3e9149a57833")
    }
}

impl std::error::Error for GuidError {}

const DASHES: [usize; 4] = [8, 13, 18, 23];
const TEXT_BYTES: usize = 36;

impl Guid {
    /// The string format as ASCII bytes: lower case with dashes.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::Guid;
    ///
    /// assert_eq!(&Guid([0; 16]).text(), b"00000000-0000-0000-0000-000000000000");
    /// ```
    pub fn text(&self) -> [u8; TEXT_BYTES] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        // The positions of the digits of each byte.
        const AT: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
        let mut out = [b'-'; TEXT_BYTES];
        for (byte, at) in self.0.into_iter().zip(AT) {
            out[at] = HEX[usize::from(byte >> 4)];
            out[at + 1] = HEX[usize::from(byte & 15)];
        }
        out
    }
}

impl FromStr for Guid {
    type Err = GuidError;

    fn from_str(text: &str) -> Result<Self, GuidError> {
        let bytes = text.as_bytes();
        if bytes.len() != TEXT_BYTES || DASHES.iter().any(|&at| bytes[at] != b'-') {
            return Err(GuidError);
        }
        let mut digits =
            bytes.iter().enumerate().filter(|(at, _)| !DASHES.contains(at)).map(|(_, &b)| hex(b));
        let mut out = [0; 16];
        for byte in &mut out {
            let high = digits.next().flatten().ok_or(GuidError)?;
            let low = digits.next().flatten().ok_or(GuidError)?;
            *byte = high << 4 | low;
        }
        Ok(Self(out))
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_any_case_and_prints_lower() {
        let guid: Guid = "C9DA6455-213d-42c9-9A79-3e9149a57833".parse().unwrap();
        assert_eq!(guid.to_string(), "c9da6455-213d-42c9-9a79-3e9149a57833");
    }

    #[test]
    fn other_forms_are_rejected() {
        for text in [
            "",
            "c9da6455213d42c99a793e9149a57833",
            "{c9da6455-213d-42c9-9a79-3e9149a57833}",
            "c9da6455-213d-42c9-9a79-3e9149a5783g",
            "c9da6455-213d-42c9-9a793-e9149a57833",
        ] {
            assert_eq!(text.parse::<Guid>(), Err(GuidError), "{text}");
        }
    }
}
