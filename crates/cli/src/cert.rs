//! `lazuli cert`: a certificate authority for development, certificates that it issues, and how to trust it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_server::tls::authority::{self, AUTHORITY_KEY};

/// Create a development CA and a server certificate, and explain how to trust them.
///
/// The CA is created once per directory and kept: clients that trust it also trust the certificates that later runs issue. A
/// certificate is for localhost, the loopback addresses and the given hosts.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli cert certs
  lazuli cert certs --host storage --host 192.168.1.7    also for a name and an address
  lazuli serve --tls-cert certs/server.pem --tls-key certs/server-key.pem
  lazuli table list --ca-file certs/ca.pem -c 'DefaultEndpointsProtocol=https;AccountName=…'

For a server of your own, `lazuli serve --self-signed` needs no CA.")]
pub struct Cert {
    /// Directory for the CA, the certificate and their keys, created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Another name or address of the server; may be repeated
    #[arg(long, value_name = "NAME|ADDRESS")]
    host: Vec<String>,
}

impl Cert {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        let issued = authority::issue(&self.directory, &self.host, lazuli_server::clock::now())
            .map_err(|error| format!("{}: {error}", self.directory.display()))?;
        let authority = issued.authority.display();
        let (certificate, key) = (issued.files.certificate.display(), issued.files.key.display());
        say!("CA:          {authority}{}", if issued.is_new { " (new)" } else { "" });
        say!("certificate: {certificate}\nprivate key: {key}");
        say!("\nserve with it:\n  lazuli serve --tls-cert {certificate} --tls-key {key}");
        say!("\ntrust the CA, for one program:");
        for (program, how) in [
            ("Python", "REQUESTS_CA_BUNDLE"),
            ("Node.js", "NODE_EXTRA_CA_CERTS"),
            ("Go, .NET, OpenSSL", "SSL_CERT_FILE"),
            ("az", "REQUESTS_CA_BUNDLE"),
        ] {
            say!("  {program:<18} {how}={authority}");
        }
        say!("  {:<18} --cacert {authority}", "curl");
        say!("  {:<18} --ca-file {authority}", "lazuli");
        say!("\nor for all programs:");
        for (system, how) in [
            (
                "Debian, Ubuntu",
                format!(
                    "cp {authority} /usr/local/share/ca-certificates/lazuli.crt && update-ca-certificates"
                ),
            ),
            (
                "Fedora, RHEL",
                format!("cp {authority} /etc/pki/ca-trust/source/anchors/lazuli.pem && update-ca-trust"),
            ),
            (
                "macOS",
                format!("security add-trusted-cert -k ~/Library/Keychains/login.keychain-db {authority}"),
            ),
            ("Windows", format!("certutil -addstore -user Root {authority}")),
        ] {
            say!("  {system:<18} {how}");
        }
        say!(
            "\nkeep {} secret: anyone who has it can impersonate any site to programs that trust the CA",
            self.directory.join(AUTHORITY_KEY).display()
        );
        Ok(ExitCode::SUCCESS)
    }
}
