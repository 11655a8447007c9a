//! Certificates in PFX files (PKCS#12, RFC 7292), as Windows, .NET and OpenSSL export them.
//!
//! Libraries for this add dozens of crates, so the few structures are read here. Files come from the operator
//! and have at most 1 MiB; every length in them is checked.

mod cipher;
mod der;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use cipher::Secret;
use der::{CONTEXT_0, DerReader, INTEGER, OCTET_STRING, OID, SEQUENCE};

const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1];
const ENCRYPTED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 6];
const KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 12, 10, 1, 1];
const SHROUDED_KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 12, 10, 1, 2];
const CERTIFICATE_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 12, 10, 1, 3];
const X509_CERTIFICATE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 22, 1];
const LOCAL_KEY_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 21];
const SET: u8 = 0x31;

const NOT_PFX: &str = "not a PFX file, or one of an unknown kind";

/// The certificates and the private key of a file. The certificate of the key comes first. Errors do not name
/// the file.
pub fn read(
    file: &[u8],
    password: &str,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let secret = Secret::new(password);
    let mut found = Found::default();
    let mut whole = DerReader(file).enter(SEQUENCE).ok_or(NOT_PFX)?;
    let content = content(&mut whole).ok_or(NOT_PFX)?;
    if let Some(mac) = whole.enter(SEQUENCE)
        && !secret.verify(mac, &content).ok_or(NOT_PFX)?
    {
        return Err("the password is wrong".into());
    }
    found
        .safes(&content, &secret)
        .ok_or("it cannot be decrypted: the password is wrong, or its cipher is unknown")?;
    found.chain()
}

/// The content of a ContentInfo that is not encrypted: version, then type and content.
fn content(whole: &mut DerReader<'_>) -> Option<Vec<u8>> {
    whole.take(INTEGER)?;
    let mut info = whole.enter(SEQUENCE)?;
    (info.take(OID)? == DATA).then_some(())?;
    info.enter(CONTEXT_0)?.octets()
}

/// The contents of a file.
#[derive(Default)]
struct Found {
    /// Certificates, with the ids of their keys.
    certificates: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The private key, with its id.
    key: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Found {
    /// Reads all parts of the file.
    fn safes(&mut self, content: &[u8], secret: &Secret) -> Option<()> {
        let mut safes = DerReader(content).enter(SEQUENCE)?;
        while !safes.0.is_empty() {
            let mut info = safes.enter(SEQUENCE)?;
            let kind = info.take(OID)?;
            let mut inner = info.enter(CONTEXT_0)?;
            let bags = match kind {
                DATA => inner.octets()?,
                ENCRYPTED_DATA => {
                    let mut data = inner.enter(SEQUENCE)?;
                    data.take(INTEGER)?;
                    let mut data = data.enter(SEQUENCE)?;
                    data.take(OID)?;
                    let algorithm = data.enter(SEQUENCE)?;
                    secret.decrypt(algorithm, &data.octets()?)?
                }
                _ => return None,
            };
            self.bags(DerReader(&bags).enter(SEQUENCE)?, secret)?;
        }
        Some(())
    }

    fn bags(&mut self, mut bags: DerReader<'_>, secret: &Secret) -> Option<()> {
        while !bags.0.is_empty() {
            let mut bag = bags.enter(SEQUENCE)?;
            let kind = bag.take(OID)?;
            let mut value = bag.enter(CONTEXT_0)?;
            let id = bag.enter(SET).and_then(key_id);
            match kind {
                KEY_BAG => self.key = Some((value.0.to_vec(), id)),
                SHROUDED_KEY_BAG => {
                    let mut key = value.enter(SEQUENCE)?;
                    let algorithm = key.enter(SEQUENCE)?;
                    self.key = Some((secret.decrypt(algorithm, key.take(OCTET_STRING)?)?, id));
                }
                CERTIFICATE_BAG => {
                    let mut certificate = value.enter(SEQUENCE)?;
                    if certificate.take(OID)? == X509_CERTIFICATE {
                        let der = certificate.enter(CONTEXT_0)?.octets()?;
                        self.certificates.push((der, id));
                    }
                }
                // Revocation lists and secrets are not needed.
                _ => {}
            }
        }
        Some(())
    }

    /// The certificate of the key, followed by the others. Without ids, the first certificate is assumed to be
    /// that of the key.
    fn chain(self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let (key, id) = self.key.ok_or("contains no private key")?;
        let mut certificates = self.certificates;
        if id.is_some() {
            certificates.sort_by_key(|(_, of)| *of != id);
        }
        if certificates.is_empty() {
            return Err("contains no certificate".into());
        }
        let chain = certificates.into_iter().map(|(der, _)| CertificateDer::from(der)).collect();
        Ok((chain, PrivatePkcs8KeyDer::from(key).into()))
    }
}

/// The id that links a key to its certificate.
fn key_id(mut attributes: DerReader<'_>) -> Option<Vec<u8>> {
    while let Some(mut attribute) = attributes.enter(SEQUENCE) {
        if attribute.take(OID)? == LOCAL_KEY_ID {
            return attribute.enter(SET)?.octets();
        }
    }
    None
}

#[cfg(test)]
mod tests;
