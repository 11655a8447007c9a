//! A certificate for development, self-signed.
//!
//! It is created once and kept, so clients that trust it need no change after a restart. It names the loopback
//! interface of this machine and cannot sign other certificates, so trusting it means trusting only this
//! server.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};

use super::Files;

/// The file name of the certificate.
pub const CERTIFICATE: &str = "self-signed.pem";
/// The file name of its key.
pub const KEY: &str = "self-signed-key.pem";

/// Names by which clients on this machine reach the server, in both styles of addressing.
pub(super) const NAMES: [&str; 6] =
    ["localhost", "*.blob.localhost", "*.queue.localhost", "*.table.localhost", "127.0.0.1", "::1"];
const PEM_LINE_BYTES: usize = 64;

/// The certificate in a directory, created if there is none. `address` is the address of the server.
pub fn ensure(directory: &Path, address: IpAddr) -> io::Result<Files> {
    let files = Files::pem(directory.join(CERTIFICATE), directory.join(KEY));
    if files.certificate.exists() && files.key.exists() {
        return Ok(files);
    }
    fs::create_dir_all(directory)?;
    let (certificate, key) = make(address).map_err(io::Error::other)?;
    // Write the key first: otherwise a crash could leave a certificate that clients trust but whose key is
    // lost.
    write(&files.key, "PRIVATE KEY", &key, 0o600)?;
    write(&files.certificate, "CERTIFICATE", &certificate, 0o644)?;
    Ok(files)
}

/// The certificate and its key, both in DER form.
fn make(address: IpAddr) -> Result<(Vec<u8>, Vec<u8>), rcgen::Error> {
    let mut names: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    let own = address.to_string();
    if !address.is_unspecified() && !names.contains(&own) {
        names.push(own);
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "Lazuli, self-signed");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.der().to_vec(), key.serialize_der()))
}

/// Writes a PEM file with these permissions.
pub(super) fn write(path: &Path, label: &str, der: &[u8], mode: u32) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let text = STANDARD.encode(der);
    writeln!(file, "-----BEGIN {label}-----")?;
    for line in text.as_bytes().chunks(PEM_LINE_BYTES) {
        file.write_all(line)?;
        file.write_all(b"\n")?;
    }
    writeln!(file, "-----END {label}-----")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    /// A certificate that was trusted before a restart is trusted after it.
    #[test]
    fn a_certificate_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let ensure = || ensure(directory.path(), Ipv4Addr::UNSPECIFIED.into()).unwrap();
        let files = ensure();
        let (certificate, key) = (fs::read(&files.certificate).unwrap(), fs::read(&files.key).unwrap());
        assert_eq!(ensure(), files);
        assert_eq!(fs::read(&files.certificate).unwrap(), certificate);
        assert_eq!(fs::metadata(&files.key).unwrap().mode() & 0o777, 0o600);
        // A certificate without its key is useless.
        fs::remove_file(&files.key).unwrap();
        ensure();
        assert_ne!(fs::read(&files.key).unwrap(), key);
        assert_ne!(fs::read(&files.certificate).unwrap(), certificate);
    }
}
