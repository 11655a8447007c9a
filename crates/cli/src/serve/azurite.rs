//! Azurite's flags, so that its command lines work here: some have the same meaning, the others are accepted
//! without effect.

use std::ffi::OsString;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;

use clap::Args;
use lazuli_server::Service;

use super::parse_host;
use crate::azurite::Program;

/// Flags of Azurite, so that its command lines work here; --cert and --key are aliases of our own flags.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "these are another program's flags")]
pub struct AzuriteArgs {
    /// Set by the names of Azurite's programs; see `crate::azurite`.
    #[arg(long = crate::azurite::FLAG, hide = true, value_enum)]
    pub program: Option<Program>,
    /// An argument that Azurite ignores.
    #[arg(long = crate::azurite::IGNORED, hide = true)]
    ignored: Vec<OsString>,
    #[arg(long = "tableHost", hide = true, value_parser = resolve_host)]
    table_host: Option<IpAddr>,
    #[arg(long = "inMemoryPersistence", hide = true)]
    pub in_memory: bool,
    #[arg(long = "skipApiVersionCheck", hide = true)]
    skip_version_check: bool,
    #[arg(short = 'L', long = "loose", hide = true)]
    loose: bool,
    #[arg(long = "disableTelemetry", hide = true)]
    disable_telemetry: bool,
    #[arg(long = "disableProductStyleUrl", hide = true)]
    pub disable_host_style: bool,
    #[arg(short = 'd', long = "debug", hide = true, num_args = 0..=1, default_missing_value = "")]
    pub debug: Option<String>,
    #[arg(long = "extentMemoryLimit", hide = true)]
    extent_memory_limit: Option<String>,
    #[arg(long = "blobHost", hide = true, value_parser = resolve_host)]
    blob_host: Option<IpAddr>,
    #[arg(long = "blobKeepAliveTimeout", hide = true)]
    blob_keep_alive: Option<String>,
    #[arg(long = "queueHost", hide = true, value_parser = resolve_host)]
    queue_host: Option<IpAddr>,
    #[arg(long = "queueKeepAliveTimeout", hide = true)]
    queue_keep_alive: Option<String>,
    #[arg(long = "tableKeepAliveTimeout", hide = true)]
    table_keep_alive: Option<String>,
}

/// Parses an address. Azurite also accepts host names, such as those of containers.
fn resolve_host(text: &str) -> Result<IpAddr, String> {
    if let Ok(address) = parse_host(text) {
        return Ok(address);
    }
    let unknown = || "neither an IP address nor the name of a host".to_owned();
    let found: Vec<IpAddr> =
        (text, 0).to_socket_addrs().map_err(|_| unknown())?.map(|found| found.ip()).collect();
    found.iter().find(|ip| ip.is_ipv4()).or(found.first()).copied().ok_or_else(unknown)
}

impl AzuriteArgs {
    /// The address for one service, if it has a separate one.
    pub fn host(&self, service: Service) -> Option<IpAddr> {
        match service {
            Service::Blob => self.blob_host,
            Service::Queue => self.queue_host,
            Service::Table => self.table_host,
        }
    }

    /// Does any service have a separate address?
    pub fn names_host(&self) -> bool {
        Service::ALL.iter().any(|service| self.host(*service).is_some())
    }

    /// The file for the debug log, if specified.
    pub fn debug_file(&self) -> Option<&Path> {
        self.debug.as_deref().filter(|file| !file.is_empty()).map(Path::new)
    }

    /// A notice about flags and variables of Azurite that have no effect, if there are any.
    pub fn notice(&self) -> Option<String> {
        let keep_alive = "see --idle-timeout";
        let is_set = |name: &str| {
            self.program.is_some() && std::env::var_os(name).is_some_and(|text| !text.is_empty())
        };
        let flags = [
            (self.loose, "--loose", ""),
            (self.skip_version_check, "--skipApiVersionCheck", ""),
            (self.disable_telemetry, "--disableTelemetry", ""),
            (self.blob_keep_alive.is_some(), "--blobKeepAliveTimeout", keep_alive),
            (self.queue_keep_alive.is_some(), "--queueKeepAliveTimeout", keep_alive),
            (self.table_keep_alive.is_some(), "--tableKeepAliveTimeout", keep_alive),
            (self.extent_memory_limit.is_some(), "--extentMemoryLimit", ""),
            (is_set("AZURITE_SKIP_API_VERSION_CHECK"), "AZURITE_SKIP_API_VERSION_CHECK", ""),
            (is_set("AZURITE_DB"), "AZURITE_DB", "the metadata of blobs is in the data directory"),
        ];
        let flags = flags.iter().filter(|(is_given, ..)| *is_given).map(|(_, name, hint)| match *hint {
            "" => (*name).to_owned(),
            hint => format!("{name} ({hint})"),
        });
        let words = self.ignored.iter().map(|word| format!("'{}'", word.to_string_lossy()));
        let all: Vec<String> = flags.chain(words).collect();
        (!all.is_empty()).then(|| format!("these have no effect: {}", all.join(", ")))
    }
}
