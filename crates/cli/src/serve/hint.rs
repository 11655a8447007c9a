//! Error messages about ports, with a hint.

use std::io;

use lazuli_model::Service;
use lazuli_server::ports::{PortError, PortPurpose};

/// The error for a port that cannot be used, with a hint.
pub fn hinted(error: &PortError) -> String {
    let flag = match error.purpose {
        PortPurpose::Service(Service::Blob) => "--blob-port",
        PortPurpose::Service(Service::Queue) => "--queue-port",
        PortPurpose::Service(Service::Table) => "--table-port",
        PortPurpose::Admin => "--admin-port",
        PortPurpose::Console => "--console-port",
        PortPurpose::Websites => "--web-port",
    };
    match error.source.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{error}; is a server already running there? pass {flag} to choose another port, or 0 for a free one"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("{error}; pass an address of this machine with --host, or 0.0.0.0 for all of them")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{error}; ports below 1024 need privileges; pass {flag} to choose another port")
        }
        _ => error.to_string(),
    }
}
