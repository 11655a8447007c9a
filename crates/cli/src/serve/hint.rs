//! Errors about ports, with a hint.

use std::io;

use lazuli_model::Service;
use lazuli_server::ports::{PortError, Purpose};

/// The error for a port that cannot be used, with a hint.
pub fn hinted(error: &PortError) -> String {
    let flag = match error.purpose {
        Purpose::Service(Service::Blob) => "--blob-port",
        Purpose::Service(Service::Queue) => "--queue-port",
        Purpose::Service(Service::Table) => "--table-port",
        Purpose::Admin => "--admin-port",
        Purpose::Console => "--console-port",
        Purpose::Websites => "--web-port",
    };
    match error.source.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{error}; is a server running there already? {flag} chooses another port, and 0 any that is free"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("{error}; --host takes an address of this machine, or 0.0.0.0 for all of them")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{error}; ports below 1024 need a privilege, and {flag} chooses another")
        }
        _ => error.to_string(),
    }
}
