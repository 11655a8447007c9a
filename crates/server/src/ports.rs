//! The ports of a server, bound before anything else is created, so that a port in use has no effect except an
//! error message.
//!
//! Invariant: no connection is accepted before the server can respond. Until the server listens, a bound port
//! refuses connections.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use lazuli_model::Service;

use crate::config::{AdminPort, Config};

/// Maximum connections that wait to be accepted: as many as the system allows.
const WAITING_MAX: u32 = u32::MAX;

/// The purpose of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortPurpose {
    /// A service.
    Service(Service),
    /// The admin listener.
    Admin,
    /// The web console.
    Console,
    /// Static websites.
    Websites,
}

/// The reason why a port cannot be bound.
#[derive(Debug)]
pub struct PortError {
    /// The purpose of the port.
    pub purpose: PortPurpose,
    /// The address.
    pub address: SocketAddr,
    /// The error of the system.
    pub source: io::Error,
}

/// The ports of a server.
pub struct Ports {
    services: Vec<(Service, Port)>,
    admin: Option<Port>,
    console: Option<Port>,
    websites: Option<Port>,
}

/// The listeners on the bound ports.
pub(crate) struct Listeners {
    pub(crate) services: Vec<(Service, TcpListener)>,
    pub(crate) admin: Option<TcpListener>,
    pub(crate) console: Option<TcpListener>,
    pub(crate) websites: Option<TcpListener>,
}

impl Ports {
    /// Binds the configured ports.
    pub fn take(config: &Config) -> Result<Self, PortError> {
        let services = config.listen.iter().map(|(service, address)| {
            Ok((service, Port::take(PortPurpose::Service(service), address, None)?))
        });
        let services = services.collect::<Result<_, PortError>>()?;
        let admin = |port, instead| {
            Port::take(PortPurpose::Admin, (Ipv4Addr::LOCALHOST, port).into(), instead).map(Some)
        };
        let admin = match config.admin {
            AdminPort::Off => None,
            AdminPort::Exactly(port) => admin(port, None)?,
            AdminPort::Preferably(port) => admin(port, Some(0))?,
        };
        let console = config.console.map(|console| {
            Port::take(PortPurpose::Console, console.address, console.may_use_other_port.then_some(0))
        });
        let websites = config.websites.map(|address| Port::take(PortPurpose::Websites, address, None));
        Ok(Self { services, admin, console: console.transpose()?, websites: websites.transpose()? })
    }

    pub(crate) fn listen(self) -> Result<Listeners, PortError> {
        let services = self.services.into_iter().map(|(service, port)| Ok((service, port.listen()?)));
        let services = services.collect::<Result<_, PortError>>()?;
        let admin = self.admin.map(Port::listen).transpose()?;
        let console = self.console.map(Port::listen).transpose()?;
        let websites = self.websites.map(Port::listen).transpose()?;
        Ok(Listeners { services, admin, console, websites })
    }
}

/// A bound port. If two servers bind the same port at the same moment, the second gets an error when it listens.
struct Port {
    purpose: PortPurpose,
    address: SocketAddr,
    /// The alternative port, if the first is in use.
    instead: Option<u16>,
    socket: TcpSocket,
}

impl Port {
    fn take(purpose: PortPurpose, address: SocketAddr, instead: Option<u16>) -> Result<Self, PortError> {
        match (bound(address), instead) {
            (Ok(socket), _) => Ok(Self { purpose, address, instead, socket }),
            (Err(_), Some(port)) => Self::take(purpose, SocketAddr::new(address.ip(), port), None),
            (Err(source), None) => Err(PortError { purpose, address, source }),
        }
    }

    fn listen(self) -> Result<TcpListener, PortError> {
        let Self { purpose, address, instead, socket } = self;
        match (socket.listen(WAITING_MAX), instead) {
            (Ok(listener), _) => Ok(listener),
            (Err(_), Some(port)) => Self::take(purpose, SocketAddr::new(address.ip(), port), None)?.listen(),
            (Err(source), None) => Err(PortError { purpose, address, source }),
        }
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Otherwise a server could not restart while connections of the previous one linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // There are several listeners, so the error names the one that failed.
        let what = match self.purpose {
            PortPurpose::Service(Service::Blob) => "blobs",
            PortPurpose::Service(Service::Queue) => "queues",
            PortPurpose::Service(Service::Table) => "tables",
            PortPurpose::Admin => "the admin listener",
            PortPurpose::Console => "the web console",
            PortPurpose::Websites => "static websites",
        };
        write!(f, "cannot listen on {} for {what}: {}", self.address, self.source)
    }
}

impl std::error::Error for PortError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<PortError> for io::Error {
    fn from(error: PortError) -> Self {
        io::Error::new(error.source.kind(), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(admin: AdminPort) -> Config {
        let mut config = Config::new((Ipv4Addr::LOCALHOST, 0).into());
        config.admin = admin;
        config
    }

    fn taken() -> (std::net::TcpListener, u16) {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    #[tokio::test]
    async fn a_port_in_use_is_reported_with_its_purpose() {
        let (_listener, port) = taken();
        let error = Ports::take(&config(AdminPort::Exactly(port))).err().unwrap();
        assert_eq!((error.purpose, error.source.kind()), (PortPurpose::Admin, io::ErrorKind::AddrInUse));
        let error = Ports::take(&Config::new(([127, 0, 0, 1], port).into())).err().unwrap();
        assert_eq!((error.purpose, error.address.port()), (PortPurpose::Service(Service::Table), port));
        assert!(Ports::take(&config(AdminPort::Preferably(port))).is_ok());
    }

    /// A client never waits on a port for a server that cannot respond yet.
    #[tokio::test]
    async fn a_port_that_is_taken_lets_nobody_in_before_it_listens() {
        let ports = Ports::take(&config(AdminPort::Off)).ok().unwrap();
        let address = ports.services[0].1.socket.local_addr().unwrap();
        let refused = std::net::TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let listeners = ports.listen().ok().unwrap();
        assert_eq!(listeners.services[0].1.local_addr().unwrap(), address);
        assert!(std::net::TcpStream::connect(address).is_ok());
    }

    /// Both servers have bound the port before one of them listens.
    #[tokio::test]
    async fn two_servers_that_start_at_once_do_not_share_a_port() {
        let (listener, port) = taken();
        drop(listener);
        let first = Ports::take(&config(AdminPort::Preferably(port))).ok().unwrap();
        let second = Ports::take(&config(AdminPort::Preferably(port))).ok().unwrap();
        let admin = |ports: Ports| ports.listen().ok().unwrap().admin.unwrap();
        let (first, second) = (admin(first), admin(second));
        assert_ne!(first.local_addr().unwrap().port(), second.local_addr().unwrap().port());
    }
}
