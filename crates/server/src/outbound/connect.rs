//! Connects to the host of a URL: resolves the name, checks the addresses, connects to one of them, and starts
//! TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::url::{OutboundUrl, names_loopback};

/// Maximum number of addresses of one name that are tried.
const ADDRESSES_MAX: usize = 8;
/// Maximum time to connect to one address.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// A connection, with or without TLS.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection, with or without TLS.
pub type Stream = Box<dyn Io>;

/// The addresses of the host to which a connection is allowed.
pub async fn resolve(url: &OutboundUrl) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = url.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, url.port)]);
    }
    let found = tokio::net::lookup_host((url.host.as_str(), url.port)).await?;
    Ok(found.filter(|address| may_reach(&url.host, address.ip())).take(ADDRESSES_MAX).collect())
}

/// May this name resolve to this address? The operator allows a name as a host on the network; the owner of the
/// name must not redirect it to this machine, or to addresses at which clouds serve credentials.
fn may_reach(name: &str, address: IpAddr) -> bool {
    let address = address.to_canonical();
    if names_loopback(name) {
        return address.is_loopback();
    }
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_link_local)
}

/// Connects to one of the addresses, and starts TLS if it is configured.
pub async fn connect(
    url: &OutboundUrl,
    addresses: &[SocketAddr],
    tls: Option<Arc<ClientConfig>>,
) -> io::Result<Stream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let Some(config) = tls else { return Ok(Box::new(stream)) };
                let name = ServerName::try_from(url.host.clone()).map_err(io::Error::other)?;
                return Ok(Box::new(TlsConnector::from(config).connect(name, stream).await?));
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// Trusts the root certificates of the machine, or those of `SSL_CERT_FILE` if that is set.
pub async fn tls_config() -> io::Result<Arc<ClientConfig>> {
    tokio::task::spawn_blocking(load).await.map_err(io::Error::other)?
}

fn load() -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_stand_for_this_machine_or_for_metadata_services() {
        for (name, address, expected) in [
            ("h.example.org", "93.184.215.14", true),
            ("other", "172.18.0.3", true),
            ("h.example.org", "127.0.0.1", false),
            ("h.example.org", "::1", false),
            ("h.example.org", "::ffff:127.0.0.1", false),
            ("h.example.org", "169.254.169.254", false),
            ("h.example.org", "fe80::1", false),
            ("h.example.org", "0.0.0.0", false),
            ("h.example.org", "224.0.0.1", false),
            ("h.example.org", "255.255.255.255", false),
            ("localhost", "127.0.0.1", true),
            ("a.localhost", "::1", true),
            ("localhost", "10.0.0.1", false),
        ] {
            assert_eq!(may_reach(name, address.parse().unwrap()), expected, "{name} {address}");
        }
    }
}
