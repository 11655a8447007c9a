//! Azurite's flags, so that its command lines work here: some mean the same, the others are accepted and do nothing.

use std::net::IpAddr;

use clap::Args;

use super::parse_host;

/// Flags of Azurite, so that most command lines need one word changed; --cert and --key are other names of ours.
#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "these are another program's flags")]
pub struct AzuriteArgs {
    #[arg(long = "tableHost", hide = true, value_parser = parse_host)]
    pub table_host: Option<IpAddr>,
    #[arg(long = "inMemoryPersistence", hide = true)]
    pub in_memory: bool,
    #[arg(long = "skipApiVersionCheck", hide = true)]
    skip_version_check: bool,
    #[arg(short = 'L', long = "loose", hide = true)]
    loose: bool,
    #[arg(long = "disableTelemetry", hide = true)]
    disable_telemetry: bool,
    #[arg(long = "disableProductStyleUrl", hide = true)]
    disable_host_style: bool,
    #[arg(short = 'd', long = "debug", hide = true, num_args = 0..=1, default_missing_value = "")]
    pub debug: Option<String>,
    #[arg(long = "extentMemoryLimit", hide = true)]
    extent_memory_limit: Option<String>,
    #[arg(long = "blobHost", hide = true)]
    blob_host: Option<String>,
    #[arg(long = "blobPort", hide = true)]
    blob_port: Option<String>,
    #[arg(long = "blobKeepAliveTimeout", hide = true)]
    blob_keep_alive: Option<String>,
    #[arg(long = "queueHost", hide = true)]
    queue_host: Option<String>,
    #[arg(long = "queuePort", hide = true)]
    queue_port: Option<String>,
    #[arg(long = "queueKeepAliveTimeout", hide = true)]
    queue_keep_alive: Option<String>,
    #[arg(long = "tableKeepAliveTimeout", hide = true)]
    table_keep_alive: Option<String>,
    #[arg(long = "oauth", hide = true, num_args = 0..=1, default_missing_value = "basic")]
    oauth: Option<String>,
    #[arg(long = "pwd", hide = true)]
    password: Option<String>,
}

impl AzuriteArgs {
    /// What is to be said of flags that ask for what is not there.
    pub fn refusals(&self) -> Vec<&'static str> {
        let mut refusals = Vec::new();
        if self.oauth.is_some() {
            refusals.push(
                "--oauth: bearer tokens are checked here with their signatures, not only by their form: say who makes them with \
                 --oauth-issuer, --oauth-audience and --oauth-jwks",
            );
        }
        if self.password.is_some() {
            refusals.push(
                "--pwd: certificates are read in PEM, without a password: `openssl pkcs12 -in FILE.pfx -nodes -out both.pem` makes one of \
                 a PFX, for --tls-cert and --tls-key alike",
            );
        }
        refusals
    }

    /// What is to be said of flags that have no effect.
    pub fn notices(&self) -> Vec<&'static str> {
        let mut notices = Vec::new();
        if [&self.blob_host, &self.blob_port, &self.blob_keep_alive].iter().any(|flag| flag.is_some()) {
            notices.push("the Blob service is not served yet; its flags have no effect");
        }
        if [&self.queue_host, &self.queue_port, &self.queue_keep_alive].iter().any(|flag| flag.is_some()) {
            notices.push("the Queue service is not served yet; its flags have no effect");
        }
        if self.debug.as_deref().is_some_and(|file| !file.is_empty()) {
            notices.push("--debug: the lines go to standard error, not to a file");
        }
        if self.extent_memory_limit.is_some() {
            notices.push("--extentMemoryLimit concerns blobs and has no effect");
        }
        notices
    }
}
