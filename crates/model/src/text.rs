//! Short wire strings, formatted without allocations: every row in a response contains some.

use std::fmt;

/// The longest is a time in an HTTP header: 29 bytes. No double has more than 24.
const TEXT_BYTES_MAX: usize = 30;

/// A printed time or number: a short ASCII string.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::DateTime;
///
/// let text = DateTime::MAX.iso();
/// assert_eq!(format!("until {text}"), "until 9999-12-31T23:59:59.9999999Z");
/// ```
#[derive(Clone, Copy, Default)]
pub struct Text {
    bytes: [u8; TEXT_BYTES_MAX],
    length: usize,
}

impl Text {
    /// The string.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// assert!(DateTime::MIN.iso().as_str().starts_with("0001-01-01"));
    /// ```
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Its bytes, all of them ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// The last `width` digits of a number, with leading zeros.
    pub(crate) fn push_number(&mut self, mut number: u64, width: usize) {
        let end = self.length + width;
        // From the last digit to the first, so that each step divides by the same constant.
        for digit in self.bytes[self.length..end].iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
        }
        self.length = end;
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A string that does not fit is rejected.
impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > TEXT_BYTES_MAX - self.length {
            return Err(fmt::Error);
        }
        self.extend(text.as_bytes());
        Ok(())
    }
}
