//! Authentication of the sender of a request: account keys, and signatures made with them.

pub mod bearer;
pub mod sas;
mod shared_key;

pub use shared_key::{
    CLOCK_SKEW_SECONDS_MAX, Credential, Scheme, SignedParts, authorization, authorize, credential, sign,
    verify,
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

/// An account key with its precomputed key schedule.
///
/// ```
/// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
/// use lazuli_client::account::AccountKey;
///
/// let key = AccountKey::from_base64("c2VjcmV0").unwrap();
/// assert_eq!(format!("{key:?}"), "AccountKey(…)");
/// ```
#[derive(Clone)]
pub struct AccountKey(Hmac<Sha256>);

impl AccountKey {
    /// From the bytes of the key.
    ///
    /// ```
    /// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
    /// use lazuli_client::account::AccountKey;
    ///
    /// let signature = AccountKey::new(b"secret").sign("text");
    /// assert!(AccountKey::from_base64("c2VjcmV0").unwrap().verifies("text", &signature));
    /// ```
    pub fn new(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length"))
    }

    /// From the Base64 form in which keys are shown.
    ///
    /// ```
    /// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
    /// use lazuli_client::account::AccountKey;
    ///
    /// assert!(AccountKey::from_base64("c2VjcmV0").is_some());
    /// assert!(AccountKey::from_base64("no Base64").is_none());
    /// assert!(AccountKey::from_base64("").is_none());
    /// ```
    pub fn from_base64(text: &str) -> Option<Self> {
        STANDARD.decode(text.trim()).ok().filter(|bytes| !bytes.is_empty()).map(|bytes| Self::new(&bytes))
    }

    /// Starts a signature.
    fn begin(&self) -> Hmac<Sha256> {
        self.0.clone()
    }

    /// Is this the signature of the text? Compares in constant time.
    ///
    /// ```
    /// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
    /// use lazuli_client::account::AccountKey;
    ///
    /// let key = AccountKey::new(b"secret");
    /// let signature = key.sign("text");
    /// assert!(key.verifies("text", &signature));
    /// assert!(!key.verifies("another text", &signature));
    /// assert!(!AccountKey::new(b"another key").verifies("text", &signature));
    /// ```
    pub fn verifies(&self, text: &str, signature: &Signature) -> bool {
        let mut mac = self.begin();
        mac.update(text.as_bytes());
        mac.verify_slice(signature).is_ok()
    }

    /// The signature of a text.
    ///
    /// ```
    /// # mod lazuli_client { pub use lazuli_protocol::auth as account; }
    /// use lazuli_client::account::AccountKey;
    ///
    /// // HMAC-SHA256: the second case of RFC 4231.
    /// let signature = AccountKey::new(b"Jefe").sign("what do ya want for nothing?");
    /// assert_eq!(signature[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    /// ```
    pub fn sign(&self, text: &str) -> Signature {
        let mut mac = self.begin();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

/// The key is a secret: it is never printed.
impl std::fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// A signature as a string.
pub fn signature_text(signature: &Signature) -> String {
    STANDARD.encode(signature)
}
