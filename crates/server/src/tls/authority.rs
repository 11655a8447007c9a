//! A certificate authority for development, and server certificates that it issues.
//!
//! The authority is created once in a directory and kept, so clients decide once to trust it. Each call issues a new server
//! certificate. The name of the authority contains a part of its public key: two authorities never have the same name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lazuli_model::DateTime;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;

use super::Files;
use super::self_signed::{NAMES, write};

/// The certificate of the authority, which clients trust.
pub const AUTHORITY: &str = "ca.pem";
/// The key of the authority.
pub const AUTHORITY_KEY: &str = "ca-key.pem";
/// The certificate of the server.
pub const CERTIFICATE: &str = "server.pem";
/// The key of the server.
pub const KEY: &str = "server-key.pem";

/// Number of years for which an authority is valid.
const AUTHORITY_YEARS: i32 = 10;
/// Number of years for which a server certificate is valid. Some clients reject certificates that are valid for
/// more than 825 days.
const CERTIFICATE_YEARS: i32 = 2;
/// Number of bytes of the public key in the name of the authority.
const NAMED_BYTES: usize = 4;

/// The paths of an authority and its latest server certificate.
pub struct Issued {
    /// The certificate of the authority.
    pub authority: PathBuf,
    /// Is the authority new?
    pub is_new: bool,
    /// The certificate of the server, and its key.
    pub files: Files,
}

/// Issues a certificate for localhost and for `hosts`, which are names or addresses. Creates the authority if the directory
/// has none.
pub fn issue(directory: &Path, hosts: &[String], now: DateTime) -> io::Result<Issued> {
    fs::create_dir_all(directory)?;
    let (authority, key_file) = (directory.join(AUTHORITY), directory.join(AUTHORITY_KEY));
    let is_new = !(authority.exists() && key_file.exists());
    let (year, month, day) = date(now);
    if is_new {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = authority_params(&key)?;
        params.not_before = date_time_ymd(year, month, day);
        params.not_after = date_time_ymd(year + AUTHORITY_YEARS, month, day);
        let made = params.self_signed(&key).map_err(io::Error::other)?;
        write(&key_file, "PRIVATE KEY", &key.serialize_der(), 0o600)?;
        write(&authority, "CERTIFICATE", made.der(), 0o644)?;
    }
    let key = PrivateKeyDer::from_pem_file(&key_file)
        .map_err(|error| io::Error::other(format!("{}: {error}", key_file.display())))?;
    let key = KeyPair::try_from(&key).map_err(io::Error::other)?;
    let issuer = Issuer::new(authority_params(&key)?, key);

    let mut names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    names.extend(hosts.iter().filter(|host| !NAMES.contains(&host.as_str())).cloned());
    let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
    params.distinguished_name.push(DnType::CommonName, "Lazuli");
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_before = date_time_ymd(year, month, day);
    params.not_after = date_time_ymd(year + CERTIFICATE_YEARS, month, day);
    let own = KeyPair::generate().map_err(io::Error::other)?;
    let made = params.signed_by(&own, &issuer).map_err(io::Error::other)?;
    let files = Files::pem(directory.join(CERTIFICATE), directory.join(KEY));
    write(&files.key, "PRIVATE KEY", &own.serialize_der(), 0o600)?;
    write(&files.certificate, "CERTIFICATE", made.der(), 0o644)?;
    Ok(Issued { authority, is_new, files })
}

fn authority_params(key: &KeyPair) -> io::Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
    let public = key.public_key_raw();
    let named: String = public.iter().rev().take(NAMED_BYTES).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name.push(DnType::CommonName, format!("Lazuli development CA {named}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

/// Year, month and day. Not every month has the days after the 28th, so the day is at most 28.
fn date(now: DateTime) -> (i32, u8, u8) {
    let text = now.iso_seconds();
    let mut parts = text.as_str().split(['-', 'T']);
    let mut next = || parts.next().unwrap_or_default();
    let (year, month, day) = (next().parse(), next().parse(), next().parse::<u8>());
    (year.unwrap_or(2025), month.unwrap_or(1), day.unwrap_or(1).min(28))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::time::Duration;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    use super::*;
    use crate::tls::Tls;

    const NOW: &str = "2026-03-31T12:00:00Z";

    fn is_trusted(issued: &Issued, name: &str) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&issued.authority).unwrap()).unwrap();
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
        let certificate = CertificateDer::from_pem_file(&issued.files.certificate).unwrap();
        let now = DateTime::parse(NOW).unwrap().unix_seconds() as u64;
        let name = ServerName::try_from(name).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        verifier.verify_server_cert(&certificate, &[], &name, &[], now).is_ok()
    }

    #[test]
    fn certificates_of_one_authority_are_trusted_by_it() {
        let directory = tempfile::tempdir().unwrap();
        let now = DateTime::parse(NOW).unwrap();
        let first = issue(directory.path(), &[], now).unwrap();
        let authority = fs::read(&first.authority).unwrap();
        assert!(first.is_new && is_trusted(&first, "localhost") && is_trusted(&first, "127.0.0.1"));
        assert!(!is_trusted(&first, "storage.test"));
        let second = issue(directory.path(), &["storage.test".into(), "10.0.0.7".into()], now).unwrap();
        assert!(!second.is_new && is_trusted(&second, "storage.test") && is_trusted(&second, "10.0.0.7"));
        assert!(is_trusted(&second, "a.blob.localhost"));
        assert_eq!(fs::read(&second.authority).unwrap(), authority, "trusted once, trusted again");
        assert!(Tls::open(second.files.clone()).is_ok());
        for key in [AUTHORITY_KEY, KEY] {
            assert_eq!(fs::metadata(directory.path().join(key)).unwrap().mode() & 0o777, 0o600);
        }
        let other = tempfile::tempdir().unwrap();
        let other = issue(other.path(), &[], now).unwrap();
        let mixed = Issued { authority: other.authority.clone(), ..second };
        assert!(!is_trusted(&mixed, "localhost"));
    }
}
