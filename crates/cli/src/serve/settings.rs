//! Translates flags to the settings of the server.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use lazuli_server::config::{AdminPort, ConsoleSettings, Listen, UrlScheme};
use lazuli_server::tls::{Files, self_signed};
use lazuli_server::{Config, Service};
use lazuli_store::Durability;

use super::{ADMIN_PORT, DurabilityArg, SchemeArg, Serve};
use crate::engine_url::EngineUrl;
use crate::memory;

const MIB: u64 = 1024 * 1024;

impl Serve {
    pub(super) fn config(&self, url: &EngineUrl) -> Config {
        let mut config = Config::new((self.host, 0).into());
        config.listen = Listen::default();
        for service in Service::ALL {
            if let Some(port) = self.port(service) {
                let host = self.azurite.host(service).unwrap_or(self.host);
                config.listen = config.listen.on(service, SocketAddr::new(host, port));
            }
        }
        config.allowed_hosts.clone_from(&self.allowed_host);
        config.host_style = !self.azurite.disable_host_style;
        self.blobs.apply(&mut config);
        config.analytics_bytes_max = u64::from(self.analytics_quota_mib) * MIB;
        config.admin_file = url.directory().map(|path| path.join(lazuli_server::admin::FILE));
        config.admin = match (self.admin_port, url) {
            (Some(port), _) => AdminPort::Exactly(port),
            (None, EngineUrl::File(_) | EngineUrl::Postgres(_)) => AdminPort::Preferably(ADMIN_PORT),
            (None, EngineUrl::Memory) => AdminPort::Off,
        };
        config.console = (!self.no_console).then(|| ConsoleSettings {
            address: SocketAddr::new(self.console_host, self.console_port()),
            may_use_other_port: self.console_port.is_none(),
            is_read_only: self.console_read_only,
        });
        config.websites = self.web_port.map(|port| SocketAddr::new(self.host, port));
        config.public_scheme = match self.public_scheme {
            SchemeArg::Http => UrlScheme::Http,
            SchemeArg::Https => UrlScheme::Https,
        };
        config.trusted_proxies.clone_from(&self.trusted_proxy);
        config.limits = self.limits.limits();
        config.rates = self.limits.rates();
        config.allocated = crate::allocator::COUNT;
        config.oauth = self.oauth.settings();
        config.query_time_max = Duration::from_secs(self.query_time.into());
        config.name_hold = Duration::from_secs(self.table_name_hold.into());
        let analytics = || url.directory().map(|path| path.join(lazuli_server::analytics::DIRECTORY));
        config.old_logs = self.analytics_dir.clone().or_else(analytics);
        config.log_requests = self.log_requests || self.azurite.debug.is_some();
        config
    }

    /// The default of a setting that depends on the machine or on other settings.
    pub fn usual(&self, key: &str) -> Option<String> {
        let url = self.engine_url();
        let text = |path: PathBuf| path.display().to_string();
        match key {
            "location" => url.directory().map(|path| text(path.into())),
            "admin-port" if url != EngineUrl::Memory => Some(ADMIN_PORT.to_string()),
            "console-port" if !self.no_console => Some(self.console_port().to_string()),
            "blob-port" => self.port(Service::Blob).map(|port| port.to_string()),
            "queue-port" => self.port(Service::Queue).map(|port| port.to_string()),
            "table-port" => self.port(Service::Table).map(|port| port.to_string()),
            "cache-mib" => Some((memory::cache_bytes() / MIB).to_string()),
            "analytics-dir" => self.config(&url).old_logs.map(text),
            _ => None,
        }
    }

    /// Memory for cached data.
    pub(super) fn cache_bytes(&self) -> u64 {
        self.cache_mib.map_or_else(memory::cache_bytes, |mib| u64::from(mib) * MIB)
    }

    /// The certificate that flags name, if they do.
    pub(super) fn named_certificate(&self) -> Option<Files> {
        let certificate = self.tls_cert.clone()?;
        match (&self.tls_key, &self.tls_password) {
            (Some(key), _) => Some(Files::pem(certificate, key.clone())),
            (None, Some(password)) => Some(Files::pfx(certificate, password.clone())),
            (None, None) => None,
        }
    }

    /// The certificate to serve with. A self-signed one is written only after the data directory is locked.
    pub(super) fn certificate(&self, url: &EngineUrl, address: IpAddr) -> Result<Option<Files>, String> {
        if let Some(named) = self.named_certificate() {
            return Ok(Some(named));
        }
        let Some(wanted) = &self.self_signed else { return Ok(None) };
        let Some(directory) = wanted.as_deref().or(url.directory()) else {
            return Err("this engine has no directory for a certificate; pass --self-signed=DIR".into());
        };
        let made = self_signed::ensure(directory, address);
        made.map(Some)
            .map_err(|error| format!("failed to create a certificate in {}: {error}", directory.display()))
    }
}

impl From<DurabilityArg> for Durability {
    fn from(wanted: DurabilityArg) -> Self {
        match wanted {
            DurabilityArg::Full => Durability::Full,
            DurabilityArg::Relaxed => Durability::Relaxed,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: Serve,
    }

    /// The time of a query is a setting, 5 s by default (erratum E2).
    #[test]
    fn the_time_of_a_query_can_be_set() {
        for (words, seconds) in [(&["serve"] as &[&str], 5), (&["serve", "--query-time", "60"], 60)] {
            let config = Line::parse_from(words).serve.config(&EngineUrl::Memory);
            assert_eq!(config.query_time_max, Duration::from_secs(seconds));
        }
    }
}
