//! Decryption in PFX files: PBES2 as programs write it today, and the schemes of PKCS#12 that older ones use.

use std::num::NonZeroU32;

use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockDecryptMut as _, InnerIvInit as _, KeyInit as _, KeyIvInit as _};
use ring::{digest, hmac, pbkdf2};

use super::der::{DerReader, OCTET_STRING, OID, SEQUENCE};

/// More iterations would delay the start of the server for too long.
const ITERATIONS_MAX: u32 = 2_000_000;

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 13];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 12];
const HMAC_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2, 9];
const HMAC_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2, 10];
const HMAC_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2, 11];
const AES_128: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 2];
const AES_192: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 22];
const AES_256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 42];
const SHA1_3DES: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 12, 1, 3];
const SHA1_RC2_40: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 12, 1, 6];
const SHA1: &[u8] = &[0x2b, 0x0e, 3, 2, 0x1a];
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2];
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];

/// The purpose of a key derivation of PKCS#12.
const FOR_KEY: u8 = 1;
const FOR_IV: u8 = 2;
const FOR_MAC: u8 = 3;

/// The password of a file, in both encodings that are used.
pub struct Secret {
    /// UTF-8, for PBES2.
    text: Vec<u8>,
    /// Two bytes per character with a terminating zero, for PKCS#12.
    wide: Vec<u8>,
}

impl Secret {
    pub fn new(password: &str) -> Self {
        let wide = password.encode_utf16().chain([0]).flat_map(u16::to_be_bytes).collect();
        Self { text: password.as_bytes().to_vec(), wide }
    }

    /// Decrypts with the scheme that an AlgorithmIdentifier describes. `None` if it is unknown, or if the
    /// padding of the result is invalid.
    pub fn decrypt(&self, mut algorithm: DerReader<'_>, data: &[u8]) -> Option<Vec<u8>> {
        match algorithm.take(OID)? {
            PBES2 => self.pbes2(algorithm.enter(SEQUENCE)?, data),
            SHA1_3DES => {
                let (key, iv) = self.pkcs12(algorithm.enter(SEQUENCE)?, 24)?;
                let cipher = cbc::Decryptor::<des::TdesEde3>::new_from_slices(&key, &iv).ok()?;
                cipher.decrypt_padded_vec_mut::<Pkcs7>(data).ok()
            }
            SHA1_RC2_40 => {
                let (key, iv) = self.pkcs12(algorithm.enter(SEQUENCE)?, 5)?;
                let cipher = rc2::Rc2::new_from_slice(&key).ok()?;
                let cipher = cbc::Decryptor::inner_iv_slice_init(cipher, &iv).ok()?;
                cipher.decrypt_padded_vec_mut::<Pkcs7>(data).ok()
            }
            _ => None,
        }
    }

    fn pbes2(&self, mut parameters: DerReader<'_>, data: &[u8]) -> Option<Vec<u8>> {
        let mut derivation = parameters.enter(SEQUENCE)?;
        let mut cipher = parameters.enter(SEQUENCE)?;
        (derivation.take(OID)? == PBKDF2).then_some(())?;
        let mut derivation = derivation.enter(SEQUENCE)?;
        let salt = derivation.take(OCTET_STRING)?;
        let iterations = iterations(&mut derivation)?;
        // The length of the key, which also follows from the cipher.
        let _ = derivation.number();
        let function = match derivation.enter(SEQUENCE).map(|mut function| function.take(OID)) {
            None => pbkdf2::PBKDF2_HMAC_SHA1,
            Some(Some(HMAC_SHA256)) => pbkdf2::PBKDF2_HMAC_SHA256,
            Some(Some(HMAC_SHA384)) => pbkdf2::PBKDF2_HMAC_SHA384,
            Some(Some(HMAC_SHA512)) => pbkdf2::PBKDF2_HMAC_SHA512,
            Some(_) => return None,
        };
        let (kind, iv) = (cipher.take(OID)?, cipher.take(OCTET_STRING)?);
        let mut key = [0; 32];
        let key = match kind {
            AES_128 => &mut key[..16],
            AES_192 => &mut key[..24],
            AES_256 => &mut key[..],
            _ => return None,
        };
        pbkdf2::derive(function, iterations, salt, &self.text, key);
        match kind {
            AES_128 => cbc::Decryptor::<aes::Aes128>::new_from_slices(key, iv)
                .ok()?
                .decrypt_padded_vec_mut::<Pkcs7>(data),
            AES_192 => cbc::Decryptor::<aes::Aes192>::new_from_slices(key, iv)
                .ok()?
                .decrypt_padded_vec_mut::<Pkcs7>(data),
            _ => cbc::Decryptor::<aes::Aes256>::new_from_slices(key, iv)
                .ok()?
                .decrypt_padded_vec_mut::<Pkcs7>(data),
        }
        .ok()
    }

    /// The key and the initial vector of a scheme of PKCS#12.
    fn pkcs12(&self, mut parameters: DerReader<'_>, key_bytes: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let salt = parameters.take(OCTET_STRING)?;
        let iterations = iterations(&mut parameters)?;
        let hash = &digest::SHA1_FOR_LEGACY_USE_ONLY;
        let derive = |purpose, length| derive(hash, purpose, &self.wide, salt, iterations, length);
        Some((derive(FOR_KEY, key_bytes), derive(FOR_IV, 8)))
    }

    /// Is this the MAC of the file's content? `None` if the kind of MAC is unknown.
    pub fn verify(&self, mut mac: DerReader<'_>, content: &[u8]) -> Option<bool> {
        let mut sum = mac.enter(SEQUENCE)?;
        let (hash, keyed) = match sum.enter(SEQUENCE)?.take(OID)? {
            SHA1 => (&digest::SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            SHA256 => (&digest::SHA256, hmac::HMAC_SHA256),
            SHA384 => (&digest::SHA384, hmac::HMAC_SHA384),
            SHA512 => (&digest::SHA512, hmac::HMAC_SHA512),
            _ => return None,
        };
        let expected = sum.take(OCTET_STRING)?;
        let salt = mac.take(OCTET_STRING)?;
        let iterations = if mac.0.is_empty() { NonZeroU32::MIN } else { iterations(&mut mac)? };
        let key = derive(hash, FOR_MAC, &self.wide, salt, iterations, hash.output_len());
        Some(hmac::verify(&hmac::Key::new(keyed, &key), content, expected).is_ok())
    }
}

fn iterations(reader: &mut DerReader<'_>) -> Option<NonZeroU32> {
    reader.number().filter(|count| *count <= ITERATIONS_MAX).and_then(NonZeroU32::new)
}

/// The key derivation of PKCS#12 (RFC 7292, appendix B.2).
fn derive(
    hash: &'static digest::Algorithm,
    purpose: u8,
    password: &[u8],
    salt: &[u8],
    iterations: NonZeroU32,
    length: usize,
) -> Vec<u8> {
    let block = hash.block_len();
    let filled = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().copied().cycle().take(bytes.len().div_ceil(block) * block).collect()
    };
    let mut input = [filled(salt), filled(password)].concat();
    let mut out = Vec::new();
    while out.len() < length {
        let mut context = digest::Context::new(hash);
        context.update(&vec![purpose; block]);
        context.update(&input);
        let mut found = context.finish();
        for _ in 1..iterations.get() {
            found = digest::digest(hash, found.as_ref());
        }
        out.extend_from_slice(found.as_ref());
        // Add to each block of the input the output, repeated to the length of a block, plus one.
        let added: Vec<u8> = found.as_ref().iter().copied().cycle().take(block).collect();
        for block in input.chunks_mut(block) {
            let mut carry = 1;
            for (byte, added) in block.iter_mut().zip(&added).rev() {
                let sum = u16::from(*byte) + u16::from(*added) + carry;
                (*byte, carry) = (sum as u8, sum >> 8);
            }
        }
    }
    out.truncate(length);
    out
}
