//! The markers of List Queues: `/account/name`, where the name is that of the first queue of the next page.
//!
//! That queue may have been deleted when the marker is used.

use lazuli_model::label::LABEL_CHARS_MAX;
use lazuli_model::{ErrorCode, Failure};

/// The marker for a name.
pub fn encode(account: &str, name: &str) -> String {
    format!("/{account}/{name}")
}

/// The name in a marker.
pub fn decode(account: &str, marker: &str) -> Result<String, Failure> {
    let name = marker.strip_prefix('/').and_then(|rest| rest.strip_prefix(account)?.strip_prefix('/'));
    let name = name.filter(|name| !name.is_empty() && !name.contains('/') && name.len() <= LABEL_CHARS_MAX);
    name.map(str::to_owned).ok_or_else(|| ErrorCode::OutOfRangeInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        assert_eq!(decode("dev", &encode("dev", "my-queue")).as_deref(), Ok("my-queue"));
        for bad in ["", "my-queue", "/dev", "/dev/", "/dev/a/b", "/other/abc", "/devabc", "/dev//"] {
            assert_eq!(
                decode("dev", bad).map_err(|failure| failure.code),
                Err(ErrorCode::OutOfRangeInput),
                "{bad}"
            );
        }
        assert!(decode("dev", &encode("dev", &"q".repeat(64))).is_err());
    }
}
