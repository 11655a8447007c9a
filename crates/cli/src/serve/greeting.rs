//! The output of a server when it starts and when it stops.

use std::io::Write as _;

use lazuli_model::Service;
use lazuli_server::Running;
use lazuli_server::accounts::{ConfiguredAccount, DEVELOPMENT_KEY};

use super::{DurabilityArg, Serve};
use crate::account::connection_string;
use crate::azurite::Program;
use crate::engine_url::{EngineUrl, whole};

impl Serve {
    /// Prints the addresses of the server and how to connect to it.
    pub(super) fn greet(&self, url: &EngineUrl, running: &Running, given: &[ConfiguredAccount]) {
        if let Some(notice) = self.azurite.notice() {
            tell!("lazuli: {notice}");
        }
        print(&self.greeting(url, running, given));
    }

    /// Prints Azurite's ready lines.
    pub(super) fn greet_as(&self, program: Program, running: &Running) {
        if let Some(notice) = self.azurite.notice() {
            tell!("lazuli: {notice}");
        }
        let scheme = scheme(running);
        let lines =
            running.listen.iter().map(|(service, address)| program.ready_lines(service, scheme, address));
        print(&lines.collect::<String>());
    }

    /// Reports that the server is stopping.
    pub(super) fn say_closing(&self, services: &[Service]) {
        if self.azurite.program.is_some() {
            let line = |service: &Service| format!("Azurite {} service is closing...\n", service.title());
            print(&services.iter().map(line).collect::<String>());
        } else if !self.quiet {
            tell!("lazuli: finishing requests in flight; a second signal stops the server immediately");
        }
    }

    /// Reports that the server has stopped.
    pub(super) fn say_closed(&self, services: &[Service]) {
        if self.azurite.program.is_some() {
            let line =
                |service: &Service| format!("Azurite {} service successfully closed\n", service.title());
            print(&services.iter().map(line).collect::<String>());
        }
    }

    fn greeting(&self, url: &EngineUrl, running: &Running, given: &[ConfiguredAccount]) -> String {
        let scheme = scheme(running);
        let version = env!("CARGO_PKG_VERSION");
        let served = running
            .listen
            .iter()
            .map(|(service, address)| format!("{}s on {scheme}://{address}", service.label()));
        let served: Vec<String> = served.collect();
        let mut lines = vec![format!("Lazuli {version} serves {}", served.join(", "))];
        lines.push(match (url, self.durability) {
            (EngineUrl::Memory, _) => "  data: in memory, lost when the server stops".into(),
            (EngineUrl::Postgres(url), _) => format!("  data: {url}, which other servers may share"),
            (EngineUrl::File(path), DurabilityArg::Full) => {
                format!(
                    "  data: {}; every change is on disk before it is acknowledged",
                    whole(path).display()
                )
            }
            (EngineUrl::File(path), DurabilityArg::Relaxed) => format!(
                "  data: {}; RELAXED durability: a crash of the machine may lose the last changes",
                whole(path).display()
            ),
        });
        if let Some(content) = &self.content {
            lines.push(format!("  content of blobs: {content}"));
        }
        if let Some(console) = running.console_url() {
            let mode = if self.console_read_only { " (read-only)" } else { "" };
            lines.push(format!("  web console: {console}{mode}"));
        }
        if let Some(websites) = running.websites_url() {
            lines.push(format!("  static websites: {websites}/ACCOUNT/"));
        }
        // Other commands find it by the data directory, if there is one.
        if let Some(admin) = running.admin.filter(|_| url.directory().is_none()) {
            lines.push(format!("  health and metrics: http://{admin}/readyz, /metrics"));
        }
        if let Some(files) = running.certificate().filter(|_| self.self_signed.is_some()) {
            lines.push(format!(
                "  self-signed certificate: clients must trust {} (SSL_CERT_FILE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS, curl --cacert)",
                files.certificate.display()
            ));
        }
        for account in given {
            let endpoints = Service::ALL.iter().filter_map(|service| {
                let endpoint = running.endpoint(*service)?;
                Some((*service, format!("{endpoint}/{}", account.name)))
            });
            let endpoints: Vec<(Service, String)> = endpoints.collect();
            if account.is_development() {
                lines.push("  connection string (with the public key of the development account):".into());
                lines.push(connection_string(&account.name, DEVELOPMENT_KEY, &endpoints));
            } else {
                lines.extend(endpoints.iter().map(|(service, endpoint)| {
                    format!("  {} endpoint of account {}: {endpoint}", service.label(), account.name)
                }));
            }
        }
        if given.is_empty() {
            lines.push("  accounts: those in the store; see lazuli account --help".into());
        }
        lines.join("\n") + "\n"
    }
}

/// Prints in one write. The server continues if standard output is closed.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

pub(super) fn scheme(running: &Running) -> &'static str {
    if running.certificate().is_some() { "https" } else { "http" }
}
