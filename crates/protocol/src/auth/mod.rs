//! Who sent a request: account keys and the signatures made with them.

pub mod bearer;
pub mod sas;
mod shared_key;

pub use shared_key::{
    CLOCK_SKEW_SECONDS_MAX, Credential, Scheme, SignedParts, authorization, credential, sign, verify,
};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The development account that every SDK knows.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// Its key, which is public.
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A message authentication code.
pub type Signature = [u8; 32];

/// An account key, its key schedule computed once.
#[derive(Clone)]
pub struct AccountKey(Hmac<Sha256>);

impl AccountKey {
    /// From the bytes of the key.
    pub fn new(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length"))
    }

    /// From the Base64 form in which keys are shown.
    pub fn from_base64(text: &str) -> Option<Self> {
        STANDARD.decode(text.trim()).ok().filter(|bytes| !bytes.is_empty()).map(|bytes| Self::new(&bytes))
    }

    /// Starts a signature.
    fn begin(&self) -> Hmac<Sha256> {
        self.0.clone()
    }

    /// Is this the signature of the text? In constant time.
    pub fn verifies(&self, text: &str, signature: &Signature) -> bool {
        let mut mac = self.begin();
        mac.update(text.as_bytes());
        mac.verify_slice(signature).is_ok()
    }

    /// The signature of a text.
    pub fn sign(&self, text: &str) -> Signature {
        let mut mac = self.begin();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

/// The key is a secret: it never shows.
impl std::fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// A signature as text.
pub fn signature_text(signature: &Signature) -> String {
    STANDARD.encode(signature)
}
