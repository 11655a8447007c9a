//! TLS on a blocking socket.
//!
//! The certificate must be valid for the name in the URL, regardless of the address of the connection. The
//! trusted roots are those of the machine (or of `SSL_CERT_FILE`, if that is set) and the additional ones.
//! Reading and writing share the session's state, so a request is written before its response is read; a
//! response that has arrived is read even if the server stops reading.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore};

/// Root certificates to trust in addition to those of the machine.
#[derive(Clone, Debug)]
pub struct ExtraRoots(pub(super) RootCertStore);

impl Default for ExtraRoots {
    fn default() -> Self {
        Self(RootCertStore::empty())
    }
}

impl ExtraRoots {
    /// All certificates of a PEM file; there must be at least one.
    pub fn from_pem(text: &[u8]) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|error| invalid(format!("not a PEM file: {error}")))?;
            roots.add(certificate).map_err(|error| invalid(format!("not a root certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(invalid("the file has no PEM certificate".to_owned()));
        }
        Ok(Self(roots))
    }

    /// These roots, and those of the machine.
    fn with_native(&self) -> io::Result<RootCertStore> {
        let mut roots = self.0.clone();
        let native = rustls_native_certs::load_native_certs();
        // A machine's store may hold old certificates in unsupported formats; skip them.
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            let causes: Vec<String> = native.errors.iter().map(ToString::to_string).collect();
            let text = format!("no root certificates found on this machine {}", causes.join("; "));
            return Err(io::Error::new(io::ErrorKind::NotFound, text.trim_end().to_owned()));
        }
        Ok(roots)
    }
}

/// The settings for servers whose certificates these roots, or those of the machine, have signed.
pub(super) fn config(extra: &ExtraRoots) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(extra.with_native()?).with_no_client_auth();
    // A proxy that supports HTTP/2 must not use it.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A socket and the state of TLS on it.
#[derive(Debug)]
pub(super) struct Session {
    state: ClientConnection,
    socket: TcpStream,
}

impl Session {
    /// Performs the handshake on a socket and checks the certificate.
    pub(super) fn open(mut socket: TcpStream, name: &str, config: Arc<ClientConfig>) -> io::Result<Self> {
        let server = ServerName::try_from(name.to_owned())
            .map_err(|_| invalid(format!("{name} is not a valid name for a certificate")))?;
        let mut state = ClientConnection::new(config, server).map_err(io::Error::other)?;
        while state.is_handshaking() {
            state.complete_io(&mut socket).map_err(|error| rejection(error, name))?;
        }
        Ok(Self { state, socket })
    }

    /// The socket below.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl Read for Session {
    /// Reads without writing first, unlike the stream of rustls: a failed write must not hide a response.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            self.state.read_tls(&mut self.socket)?;
            self.state.process_new_packets().map_err(|error| invalid(error.to_string()))?;
        }
    }
}

impl Write for Session {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let taken = self.state.writer().write(buffer)?;
        self.flush()?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.state.wants_write() {
            if self.state.write_tls(&mut self.socket)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        self.socket.flush()
    }
}

/// Explains why the handshake failed.
fn rejection(error: io::Error, name: &str) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match cause {
        None => return error,
        // An authority with the same name but another key also counts as unknown.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => format!(
            "the certificate of {name} is not signed by a trusted authority; pass its root certificate in a CA file"
        ),
        Some(rustls::Error::InvalidMessage(_)) => format!("{name} does not speak TLS"),
        Some(cause) => format!("TLS handshake with {name} failed: {cause}"),
    };
    invalid(text)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
