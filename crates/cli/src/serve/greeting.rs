//! What a server says when it has started.

use std::io::Write as _;

use lazuli_server::Running;
use lazuli_server::accounts::{DEVELOPMENT_KEY, GivenAccount};

use super::{DurabilityArg, Serve};
use crate::account::connection_string;
use crate::engine_url::{EngineUrl, whole};

impl Serve {
    /// Says where it listens and how to connect. Nobody need read it: a closed standard output is no reason to stop.
    pub(super) fn greet(&self, url: &EngineUrl, running: &Running, given: &[GivenAccount]) {
        for notice in self.azurite.notices() {
            tell!("lazuli: {notice}");
        }
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(self.greeting(url, running, given).as_bytes());
        let _ = out.flush();
    }

    fn greeting(&self, url: &EngineUrl, running: &Running, given: &[GivenAccount]) -> String {
        let (scheme, table) = (scheme(running), running.table);
        let version = env!("CARGO_PKG_VERSION");
        let mut lines = vec![format!("Lazuli {version} serves tables on {scheme}://{table}")];
        lines.push(match (url, self.durability) {
            (EngineUrl::Memory, _) => "  data: in memory, gone when it stops".into(),
            (EngineUrl::Postgres(url), _) => format!("  data: {url}, which other servers may share"),
            (EngineUrl::File(path), DurabilityArg::Full) => {
                format!("  data: {}; every answer waits for the disk", whole(path).display())
            }
            (EngineUrl::File(path), DurabilityArg::Relaxed) => format!(
                "  data: {}; RELAXED durability, a crash of the machine may lose the last moments",
                whole(path).display()
            ),
        });
        // Other commands find it by the data directory, if there is one.
        if let Some(admin) = running.admin.filter(|_| url.directory().is_none()) {
            lines.push(format!("  health and metrics: http://{admin}/readyz, /metrics"));
        }
        if let Some(files) = running.certificate().filter(|_| self.self_signed.is_some()) {
            lines.push(format!(
                "  certificate, signed by itself: clients must trust {} (SSL_CERT_FILE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS, curl --cacert)",
                files.certificate.display()
            ));
        }
        for account in given {
            let endpoint = format!("{}/{}", running.endpoint, account.name);
            if account.is_development() {
                lines.push(
                    "  connection string, to paste (the key is the public one of the development account):"
                        .into(),
                );
                lines.push(connection_string(&account.name, DEVELOPMENT_KEY, &endpoint));
            } else {
                lines.push(format!("  endpoint of account {}: {endpoint}", account.name));
            }
        }
        if given.is_empty() {
            lines.push("  accounts: those kept in the store; see lazuli account --help".into());
        }
        lines.join("\n") + "\n"
    }
}

pub(super) fn scheme(running: &Running) -> &'static str {
    if running.certificate().is_some() { "https" } else { "http" }
}
