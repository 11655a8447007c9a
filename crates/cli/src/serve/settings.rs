//! What the flags say, in the words of the server.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use lazuli_server::Config;
use lazuli_server::config::{AdminPort, Scheme};
use lazuli_server::tls::{Files, self_signed};
use lazuli_store::Durability;

use super::{ADMIN_PORT, DurabilityArg, SchemeArg, Serve};
use crate::engine_url::EngineUrl;
use crate::memory;

const MIB: u64 = 1024 * 1024;

impl Serve {
    pub(super) fn config(&self, url: &EngineUrl) -> Config {
        let host = self.azurite.table_host.unwrap_or(self.host);
        let mut config = Config::new(SocketAddr::new(host, self.table_port));
        config.admin_file = url.directory().map(|path| path.join(lazuli_server::admin::FILE));
        config.admin = match (self.admin_port, url) {
            (Some(port), _) => AdminPort::Exactly(port),
            (None, EngineUrl::File(_) | EngineUrl::Postgres(_)) => AdminPort::Preferably(ADMIN_PORT),
            (None, EngineUrl::Memory) => AdminPort::Off,
        };
        config.public_scheme = match self.public_scheme {
            SchemeArg::Http => Scheme::Http,
            SchemeArg::Https => Scheme::Https,
        };
        config.trusted_proxies.clone_from(&self.trusted_proxy);
        config.limits = self.limits.limits();
        config.rates = self.limits.rates();
        config.oauth = self.oauth.settings();
        config.query_time_max = Duration::from_secs(self.query_time.into());
        config.name_hold = Duration::from_secs(self.table_name_hold.into());
        let analytics = || url.directory().map(|path| path.join(lazuli_server::analytics::DIRECTORY));
        config.analytics = self.analytics_dir.clone().or_else(analytics);
        config.log_requests = self.log_requests || self.azurite.debug.is_some();
        config
    }

    /// What a setting is that nobody has said, where that depends on the machine or on other settings.
    pub fn usual(&self, key: &str) -> Option<String> {
        let url = self.engine_url();
        let text = |path: PathBuf| path.display().to_string();
        match key {
            "location" => url.directory().map(|path| text(path.into())),
            "admin-port" if url != EngineUrl::Memory => Some(ADMIN_PORT.to_string()),
            "cache-mib" => Some((memory::cache_bytes() / MIB).to_string()),
            "analytics-dir" => self.config(&url).analytics.map(text),
            _ => None,
        }
    }

    /// Memory for cached data.
    pub(super) fn cache_bytes(&self) -> u64 {
        self.cache_mib.map_or_else(memory::cache_bytes, |mib| u64::from(mib) * MIB)
    }

    /// The certificate that was named, if one was.
    pub(super) fn named_certificate(&self) -> Option<Files> {
        let (certificate, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(Files { certificate, key })
    }

    /// The certificate to serve with. One of our own making is written only when the data directory is ours.
    pub(super) fn certificate(&self, url: &EngineUrl, address: IpAddr) -> Result<Option<Files>, String> {
        if let Some(named) = self.named_certificate() {
            return Ok(Some(named));
        }
        let Some(wanted) = &self.self_signed else { return Ok(None) };
        let Some(directory) = wanted.as_deref().or(url.directory()) else {
            return Err("this engine has no directory for a certificate: say --self-signed=DIR".into());
        };
        let made = self_signed::ensure(directory, address);
        made.map(Some).map_err(|error| format!("no certificate in {}: {error}", directory.display()))
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
