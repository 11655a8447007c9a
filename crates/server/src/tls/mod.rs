//! TLS on the data ports: the certificate, its replacement while the server runs, and the handshake.
//!
//! A connection keeps the certificate that it started with; new connections get the certificate that was loaded
//! last. Unusable files never replace a usable certificate.

pub mod authority;
mod pfx;
pub mod self_signed;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Maximum size of a file; a chain of certificates takes kilobytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The only protocol offered: a client that could use HTTP/2 must not.
const PROTOCOL: &[u8] = b"http/1.1";
/// The first byte of every TLS connection: the type of a handshake record.
pub const HANDSHAKE: u8 = 0x16;

/// The paths of the certificate and its key: two PEM files, or one PFX file with both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate, and the intermediate certificates.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The password of a PFX file (PKCS#12), which contains both; `None` for PEM files.
    pub password: Option<Password>,
}

impl Files {
    /// Two PEM files.
    pub fn pem(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key, password: None }
    }

    /// A PFX file.
    pub fn pfx(file: PathBuf, password: String) -> Self {
        Self { certificate: file.clone(), key: file, password: Some(Password(password)) }
    }
}

/// A password, which `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The server's side of TLS.
pub struct Tls {
    files: Files,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files; they must be valid.
    pub fn open(files: Files) -> io::Result<Self> {
        let config = RwLock::new(Arc::new(read(&files)?));
        Ok(Self { files, config })
    }

    /// Reloads the files for new connections. If they cannot be used, keeps the previous certificate.
    pub fn reload(&self) -> io::Result<()> {
        let config = Arc::new(read(&self.files)?);
        *self.config.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = config;
        Ok(())
    }

    /// The path of the certificate.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Performs the handshake. A slow client can delay it: the caller sets a deadline.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        TlsAcceptor::from(config).accept(stream).await
    }
}

fn read(files: &Files) -> io::Result<ServerConfig> {
    let of_certificate = |why: String| about(&files.certificate, why);
    let (chain, key) = match &files.password {
        Some(password) => pfx::read(&read_small(&files.certificate)?, &password.0).map_err(of_certificate)?,
        None => read_pem(files)?,
    };
    let provider = rustls::crypto::ring::default_provider();
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| of_certificate(format!("cannot be used with {}: {error}", files.key.display())))?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Session tickets let returning clients skip the expensive part of the handshake, and use no memory on the
    // server.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(io::Error::other)?;
    Ok(config)
}

fn read_pem(files: &Files) -> io::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let of_certificate = |why: String| about(&files.certificate, why);
    let text = read_small(&files.certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| of_certificate(format!("not a PEM file: {error}")))?;
    if chain.is_empty() {
        return Err(of_certificate("contains no certificate in PEM format".into()));
    }
    let key = PrivateKeyDer::from_pem_slice(&read_small(&files.key)?)
        .map_err(|error| about(&files.key, format!("contains no private key in PEM format: {error}")))?;
    Ok((chain, key))
}

fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut text = Vec::new();
    regular(path)
        .and_then(|()| File::open(path))
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut text))
        .map_err(named)?;
    Ok(text)
}

/// Reading a pipe can block forever, and cannot be repeated.
pub(crate) fn regular(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"))
}

fn about(path: &Path, why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn made(directory: &Path) -> Files {
        self_signed::ensure(directory, Ipv4Addr::LOCALHOST.into()).unwrap()
    }

    /// An error names the file that caused it.
    #[test]
    fn files_that_cannot_be_used_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let good = made(&directory.path().join("good"));
        let other = made(&directory.path().join("other"));
        assert!(Tls::open(good.clone()).is_ok());
        let path = |name: &str| directory.path().join(name);
        let check = |certificate: &Path, key: &Path, why: &str| {
            let files = Files::pem(certificate.into(), key.into());
            let error = Tls::open(files).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        fs::write(path("empty"), "").unwrap();
        fs::write(path("broken"), "-----BEGIN CERTIFICATE-----\n").unwrap();
        fs::write(path("junk"), "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n").unwrap();
        check(&path("missing"), &good.key, "missing: ");
        check(&path("empty"), &good.key, "empty: contains no certificate");
        check(&path("broken"), &good.key, "broken: not a PEM file");
        check(&path("junk"), &good.key, "junk: cannot be used");
        check(&good.certificate, &path("missing"), "missing: ");
        check(&good.certificate, &path("empty"), "empty: contains no private key");
        check(&good.certificate, &good.certificate, "contains no private key");
        check(&good.certificate, &other.key, "cannot be used with");
    }

    /// Files that cannot be used do not replace the certificate.
    #[test]
    fn a_bad_certificate_never_replaces_a_good_one() {
        let directory = tempfile::tempdir().unwrap();
        let files = made(directory.path());
        let tls = Tls::open(files.clone()).unwrap();
        let current = || tls.config.read().unwrap().clone();
        let first = current();
        fs::write(&files.certificate, "nonsense").unwrap();
        assert!(tls.reload().is_err());
        assert!(Arc::ptr_eq(&first, &current()));
        fs::remove_file(&files.certificate).unwrap();
        assert!(tls.reload().is_err());
        assert!(Arc::ptr_eq(&first, &current()));
        made(directory.path());
        tls.reload().unwrap();
        assert!(!Arc::ptr_eq(&first, &current()));
    }
}
