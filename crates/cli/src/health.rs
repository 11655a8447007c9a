//! `lazuli health`: reports whether a server is ready, for supervisors and containers.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use lazuli_server::admin::FILE;
use lazuli_server::pipeline::HEALTH_PATH;
use serde_json::Value;

use crate::admin::{self, AdminCall};
use crate::config;
use crate::serve::ADMIN_PORT;

/// Check whether a running server is ready; the exit code is 0 if it is.
///
/// Without flags, checks the server that `lazuli serve` would start with the same environment and configuration file, found by
/// its admin port or by its data directory, or else the one on port 10009 of this machine. A server without an admin listener
/// is found by the port of its first service.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli health                                the server that `lazuli serve` starts here
  lazuli health --location /var/lib/lazuli     the server whose data is there
  lazuli health --admin-port 10019             a server with another admin port, whatever its engine
  lazuli health --url http://127.0.0.1:10019   the same
  lazuli health --url http://127.0.0.1:10002/-/health   on the port of a service

The admin listener is on loopback only: run this on the machine of the server, or in its container.")]
pub struct Health {
    #[command(flatten)]
    server: AdminArgs,
}

/// Selects the server whose admin listener is queried.
#[derive(Args)]
pub struct AdminArgs {
    /// Data directory of the server
    #[arg(short = 'l', long, value_name = "DIR")]
    location: Option<PathBuf>,

    /// Port of the admin listener on this machine
    #[arg(long, value_name = "PORT", conflicts_with = "location")]
    admin_port: Option<u16>,

    /// URL of the admin listener
    #[arg(long, value_name = "URL", conflicts_with_all = ["location", "admin_port"], value_parser = parse_url)]
    url: Option<Url>,
}

/// The URL of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Url {
    /// Host and port.
    address: String,
    /// The path; empty if there is none.
    path: String,
}

impl Health {
    /// Runs the command.
    pub fn run(self, root: &Command) -> Result<ExitCode, String> {
        let path = self.server.url.as_ref().map(|url| url.path.clone()).filter(|path| !path.is_empty());
        let is_named = self.server.is_named();
        let asked = ask(&self.server.address(root)?, path.as_deref().unwrap_or("/readyz"));
        let asked = match asked {
            // A server with the engine memory: has no admin listener.
            Err(error) if !is_named => {
                let service = config::usual_serve(root)?.first_port().map(local);
                service.and_then(|address| ask(&address, HEALTH_PATH).ok()).ok_or(error)
            }
            asked => asked,
        };
        match asked? {
            (200, _) => {
                say!("ready");
                Ok(ExitCode::SUCCESS)
            }
            (status, body) => {
                let why = body.get("error").or(body.get("status")).and_then(|why| why.as_str());
                let why = why.unwrap_or("the server gave no reason");
                Err(format!("not ready ({status}): {why}"))
            }
        }
    }
}

fn ask(address: &str, path: &str) -> Result<(u16, Value), String> {
    admin::on_address(address, &AdminCall { method: "GET", path: path.into(), body: String::new() })
}

impl AdminArgs {
    /// Do flags name the server?
    fn is_named(&self) -> bool {
        self.url.is_some() || self.admin_port.is_some() || self.location.is_some()
    }

    /// The address of the admin listener.
    pub fn address(self, root: &Command) -> Result<String, String> {
        match (self.url, self.admin_port, self.location) {
            (Some(url), ..) => Ok(url.address),
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

fn parse_url(url: &str) -> Result<Url, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or("expected a URL such as http://127.0.0.1:10009; the admin listener speaks plain http")?;
    let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(Url { address: address.to_owned(), path: path.trim_end_matches('/').to_owned() })
        }
        _ => Err("expected a URL with a port, such as http://127.0.0.1:10009".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let parts = |text: &str| parse_url(text).map(|url| (url.address, url.path));
        let wanted = |address: &str, path: &str| Ok((address.to_owned(), path.to_owned()));
        assert_eq!(parts("http://127.0.0.1:10009"), wanted("127.0.0.1:10009", ""));
        assert_eq!(parts("http://127.0.0.1:10009/"), wanted("127.0.0.1:10009", ""));
        assert_eq!(parts("http://[::1]:10009/readyz"), wanted("[::1]:10009", "/readyz"));
        for bad in
            ["", "127.0.0.1:10009", "https://127.0.0.1:10009", "http://localhost", "http://:1", "http://a:b"]
        {
            assert!(parse_url(bad).is_err(), "{bad}");
        }
    }
}
