//! The HTTP/1.1 client of [`crate::Tcp`] on TLS, for servers whose endpoint is an `https` URL.
//!
//! The name of the URL decides which certificate is good, wherever the connection goes. Trusted are the root
//! certificates of the machine (those of `SSL_CERT_FILE`, where that is set) and those that are given besides.
//! Reading and writing share the state of the session, so a request is written before its answer is read; if the
//! server stops taking it, an answer that is there is read all the same.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore};

use crate::Target;
use crate::connection::{Stream, dial, exchange};
use crate::http::{Request, Response, Transport};

/// Root certificates that are trusted besides those of the machine.
#[derive(Clone, Debug)]
pub struct ExtraRoots(RootCertStore);

impl Default for ExtraRoots {
    fn default() -> Self {
        Self(RootCertStore::empty())
    }
}

impl ExtraRoots {
    /// All certificates of a text in PEM form, of which there must be one at least.
    pub fn from_pem(text: &[u8]) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|error| invalid(format!("not a PEM file: {error}")))?;
            roots.add(certificate).map_err(|error| invalid(format!("not a root certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(invalid("holds no certificate in PEM form".to_owned()));
        }
        Ok(Self(roots))
    }

    /// These, and those of the machine.
    fn with_native(&self) -> io::Result<RootCertStore> {
        let mut roots = self.0.clone();
        let native = rustls_native_certs::load_native_certs();
        // Stores of machines hold old certificates in forms that nobody can check; they are passed over.
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            let causes: Vec<String> = native.errors.iter().map(ToString::to_string).collect();
            let text = format!("no root certificates were found on this machine {}", causes.join("; "));
            return Err(io::Error::new(io::ErrorKind::NotFound, text.trim_end().to_owned()));
        }
        Ok(roots)
    }
}

/// A server behind TLS.
#[derive(Debug)]
pub struct Tls {
    authority: String,
    name: String,
    extra: ExtraRoots,
    /// Made when it is first needed: the store of the machine takes a while to read.
    config: Option<Arc<ClientConfig>>,
    connection: Option<BufReader<Session>>,
}

impl Tls {
    /// The server of a target; connects when it is first needed.
    pub fn new(target: &Target) -> Self {
        Self {
            authority: target.authority(),
            name: target.host().to_owned(),
            extra: target.extra_roots.clone(),
            config: None,
            connection: None,
        }
    }

    fn config(&mut self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = &self.config {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(config(self.extra.with_native()?)?);
        self.config = Some(Arc::clone(&config));
        Ok(config)
    }
}

impl Transport for Tls {
    fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let config = self.config()?;
        let connect = || Session::open(&self.authority, &self.name, Arc::clone(&config));
        exchange(&mut self.connection, connect, request)
    }
}

fn config(roots: RootCertStore) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // A front that could speak HTTP/2 must not.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A socket and the state of TLS on it.
#[derive(Debug)]
struct Session {
    state: ClientConnection,
    socket: TcpStream,
}

impl Session {
    /// Connects, and checks the certificate.
    fn open(authority: &str, name: &str, config: Arc<ClientConfig>) -> io::Result<Self> {
        let server = ServerName::try_from(name.to_owned())
            .map_err(|_| invalid(format!("{name} is not a name that a certificate can have")))?;
        let mut state = ClientConnection::new(config, server).map_err(io::Error::other)?;
        let mut socket = dial(authority)?;
        while state.is_handshaking() {
            state.complete_io(&mut socket).map_err(|error| refusal(error, name))?;
        }
        Ok(Self { state, socket })
    }
}

impl Read for Session {
    /// Reads without writing first, as the stream of rustls would: what cannot be written must not hide an answer.
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

impl Stream for Session {
    fn socket(&self) -> &TcpStream {
        &self.socket
    }

    fn second_writer(&self) -> io::Result<Option<TcpStream>> {
        Ok(None)
    }
}

/// Why a server was not taken for the one that was asked for.
fn refusal(error: io::Error, name: &str) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match cause {
        None => return error,
        // An authority of the same name with another key counts as unknown, too.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => format!(
            "the certificate of {name} is not signed by an authority that is trusted here; its root certificate can be given in a CA file"
        ),
        Some(rustls::Error::InvalidMessage(_)) => format!("{name} does not answer with TLS"),
        Some(cause) => format!("no TLS with {name}: {cause}"),
    };
    invalid(text)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests;
