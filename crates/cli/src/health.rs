//! `lazuli health`: reports whether a server is ready, for supervisors and containers.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_server::admin::FILE;

use crate::admin::{self, AdminCall};
use crate::config;
use crate::serve::ADMIN_PORT;

/// Check whether a running server is ready; the exit code is 0 if it is.
///
/// Without flags, checks the server that `lazuli serve` would start with the same environment and configuration file, found by
/// its admin port or by its data directory, or else the one on port 10009 of this machine.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli health                                the server that `lazuli serve` starts here
  lazuli health --location /var/lib/lazuli     the server whose data is there
  lazuli health --admin-port 10019             a server with another admin port, whatever its engine
  lazuli health --url http://127.0.0.1:10019   the same

The admin listener is on loopback only: ask on the machine, or in the container, of the server.")]
pub struct Health {
    #[command(flatten)]
    server: AdminArgs,
}

/// The server whose admin listener is asked.
#[derive(Args)]
pub struct AdminArgs {
    /// Data directory of the server
    #[arg(short = 'l', long, value_name = "DIR")]
    location: Option<PathBuf>,

    /// Port of the admin listener on this machine
    #[arg(long, value_name = "PORT", conflicts_with = "location")]
    admin_port: Option<u16>,

    /// URL of the admin listener
    #[arg(long, value_name = "URL", conflicts_with_all = ["location", "admin_port"], value_parser = address_in)]
    url: Option<String>,
}

impl Health {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let call = AdminCall { method: "GET", path: "/readyz".into(), body: String::new() };
        match admin::on_address(&self.server.address(root)?, &call)? {
            (200, _) => {
                say!("ready");
                Ok(ExitCode::SUCCESS)
            }
            (status, answer) => {
                let why =
                    answer.get("error").and_then(|why| why.as_str()).unwrap_or("the server gave no reason");
                Err(format!("not ready ({status}): {why}"))
            }
        }
    }
}

impl AdminArgs {
    /// The address of the admin listener.
    pub fn address(self, root: &Command) -> Result<String, String> {
        match (self.url, self.admin_port, self.location) {
            (Some(address), ..) => Ok(address),
            (None, Some(port), _) => Ok(local(port)),
            (None, None, Some(location)) => Ok(admin::address_and_token(&location)?.0),
            (None, None, None) => usual(root),
        }
    }
}

/// The address of the server that `serve` would start.
fn usual(root: &Command) -> Result<String, String> {
    let serve = config::usual_serve(root)?;
    if let Some(port) = serve.admin_port() {
        return Ok(local(port));
    }
    match serve.engine_url().directory() {
        Some(directory) if directory.join(FILE).exists() => Ok(admin::address_and_token(directory)?.0),
        _ => Ok(local(ADMIN_PORT)),
    }
}

fn local(port: u16) -> String {
    format!("{}:{port}", Ipv4Addr::LOCALHOST)
}

/// The host and port of a URL.
fn address_in(url: &str) -> Result<String, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or("expected a URL such as http://127.0.0.1:10009; the admin listener speaks plain http")?;
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(authority.to_owned()),
        _ => Err("expected a URL with a port, such as http://127.0.0.1:10009".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        assert_eq!(address_in("http://127.0.0.1:10009"), Ok("127.0.0.1:10009".into()));
        assert_eq!(address_in("http://[::1]:10009/readyz"), Ok("[::1]:10009".into()));
        for bad in
            ["", "127.0.0.1:10009", "https://127.0.0.1:10009", "http://localhost", "http://:1", "http://a:b"]
        {
            assert!(address_in(bad).is_err(), "{bad}");
        }
    }
}
