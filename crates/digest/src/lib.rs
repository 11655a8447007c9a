//! The checksums of blob content: MD5 and CRC-64/NVME, updated while the bytes are streamed.
//!
//! Only the checksums that a request needs are computed: MD5 costs about twenty times as much as CRC-64.
//! Uploads that compute it at the same time share the work through [`Lanes`]. This crate does no I/O and keeps
//! no bytes.

mod lanes;
mod md5;
pub mod structured;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use lazuli_model::blob::properties::Md5;
use lazuli_model::blob::write::{Crc64, Digested, Digests};
use lazuli_model::{ErrorCode, Failure};

pub use lanes::Lanes;
pub use md5::{BODIES as MD5_BODIES, md5_of_each};

/// Incremental checksums: every chunk of bytes updates them.
#[derive(Clone, Default)]
pub struct ChecksumFold {
    md5: Option<md5::Md5>,
    crc64: Option<crc64fast_nvme::Digest>,
}

impl ChecksumFold {
    /// Starts computing the requested checksums.
    pub fn new(needed: Digests) -> Self {
        Self {
            md5: needed.md5.then(md5::Md5::default),
            crc64: needed.crc64.then(crc64fast_nvme::Digest::new),
        }
    }

    /// Is there nothing to compute?
    pub fn is_idle(&self) -> bool {
        self.md5.is_none() && self.crc64.is_none()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some(crc64) = &mut self.crc64 {
            crc64.write(bytes);
        }
    }

    /// Takes the next bytes. Waits briefly while other threads compute MD5, and shares the work with them.
    pub fn update_shared(&mut self, chunks: &[Bytes], lanes: &Lanes) {
        self.md5 = self.md5.take().map(|md5| lanes.update(md5, chunks));
        if let Some(crc64) = &mut self.crc64 {
            chunks.iter().for_each(|chunk| crc64.write(chunk));
        }
    }

    /// Does it compute MD5?
    pub fn has_md5(&self) -> bool {
        self.md5.is_some()
    }

    /// Takes the last bytes, and returns the checksums of all. `md5` is that of all bytes, if it is known.
    pub fn finish_with(mut self, bytes: &[u8], md5: Option<Md5>) -> Digested {
        if md5.is_some() {
            self.md5 = None;
        }
        self.update(bytes);
        let found = self.finish();
        Digested { md5: md5.or(found.md5), ..found }
    }

    /// The checksums of all bytes so far.
    pub fn finish(self) -> Digested {
        Digested {
            md5: self.md5.map(md5::Md5::finish),
            crc64: self.crc64.map(|crc64| crc64.sum64().to_le_bytes()),
        }
    }
}

/// The checksums of complete content.
///
/// ```
/// use lazuli_digest::{crc64_text, digest, md5_text};
/// use lazuli_model::blob::write::Digests;
///
/// let found = digest(b"Hello World", Digests { md5: true, crc64: true });
/// assert_eq!(found.crc64.map(|sum| crc64_text(&sum)).as_deref(), Some("YeJLfssylmU="));
/// assert_eq!(found.md5.map(|sum| md5_text(&sum)).as_deref(), Some("sQqNsWTgdUEFt6mb5y4/5Q=="));
/// ```
pub fn digest(bytes: &[u8], needed: Digests) -> Digested {
    let mut fold = ChecksumFold::new(needed);
    fold.update(bytes);
    fold.finish()
}

/// Compares the computed checksums with the expected ones. The failure contains both.
pub fn verify(expected: &Digested, found: &Digested) -> Result<(), Failure> {
    if let (Some(given), Some(own)) = (&expected.md5, &found.md5)
        && given != own
    {
        return Err(Failure::new(ErrorCode::Md5Mismatch, MD5_MISMATCH)
            .detail("UserSpecifiedMd5", md5_text(given))
            .detail("ServerCalculatedMd5", md5_text(own)));
    }
    if let (Some(given), Some(own)) = (&expected.crc64, &found.crc64)
        && given != own
    {
        return Err(Failure::from(ErrorCode::Crc64Mismatch)
            .detail("UserSpecifiedCrc64", crc64_text(given))
            .detail("ServerCalculatedCrc64", crc64_text(own)));
    }
    Ok(())
}

/// The message of the Blob service, which differs from that of the Table service by one word.
const MD5_MISMATCH: &str =
    "The MD5 value specified in the request did not match with the MD5 value calculated by the server.";

/// An MD5 hash as a string.
pub fn md5_text(md5: &Md5) -> String {
    STANDARD.encode(md5)
}

/// A CRC-64 as a string.
pub fn crc64_text(crc64: &Crc64) -> String {
    STANDARD.encode(crc64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: Digests = Digests { md5: true, crc64: true };

    /// The check values of CRC-64/NVME, one of them from a recording of Azure.
    #[test]
    fn vectors() {
        for (text, crc64, md5) in [
            ("", "AAAAAAAAAAA=", "1B2M2Y8AsgTpgAmY7PhCfg=="),
            ("Hello World", "YeJLfssylmU=", "sQqNsWTgdUEFt6mb5y4/5Q=="),
            ("123456789", "iJh5CoYUi64=", "JfnnlDI7RTiF9RgfG2JNCw=="),
        ] {
            let found = digest(text.as_bytes(), BOTH);
            assert_eq!(found.crc64.map(|sum| crc64_text(&sum)).as_deref(), Some(crc64), "{text}");
            assert_eq!(found.md5.map(|sum| md5_text(&sum)).as_deref(), Some(md5), "{text}");
        }
    }

    #[test]
    fn computes_only_the_needed_checksums() {
        assert_eq!(digest(b"x", Digests::default()), Digested::default());
        assert!(ChecksumFold::new(Digests::default()).is_idle());
    }

    #[test]
    fn a_mismatch_tells_both_values() {
        let found = digest(b"Hello World", BOTH);
        assert_eq!(verify(&Digested::default(), &found), Ok(()));
        assert_eq!(verify(&found, &found), Ok(()));
        let wrong = Digested { crc64: Some([0; 8]), ..found };
        let failure = verify(&wrong, &found).unwrap_err();
        assert_eq!(failure.code, ErrorCode::Crc64Mismatch);
        assert_eq!(failure.details[1], ("ServerCalculatedCrc64", "YeJLfssylmU=".into()));
        let failure = verify(&Digested { md5: Some([0; 16]), crc64: None }, &found).unwrap_err();
        assert_eq!(failure.details[0], ("UserSpecifiedMd5", "AAAAAAAAAAAAAAAAAAAAAA==".into()));
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(bytes: Vec<u8>, cut in 0_usize..100) {
            let mut fold = ChecksumFold::new(BOTH);
            for chunk in bytes.chunks(cut + 1) {
                fold.update(chunk);
            }
            prop_assert_eq!(fold.finish(), digest(&bytes, BOTH));
            let chunks: Vec<Bytes> = bytes.chunks(cut + 1).map(Bytes::copy_from_slice).collect();
            let mut shared = ChecksumFold::new(BOTH);
            shared.update_shared(&chunks, &Lanes::of(2));
            prop_assert_eq!(shared.finish(), digest(&bytes, BOTH));
        }
    }
}
