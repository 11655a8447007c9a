//! The address of the database: a URL in the format of PostgreSQL's own tools, with a few additional settings.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::tls::Tls;

/// Connections of one front end for reads and writes, unless `pool=` says otherwise.
const POOL_DEFAULT: usize = 16;
/// Maximum number of connections in `pool=`.
const POOL_MAX: usize = 1_000;
/// Maximum number of servers in a URL.
const HOSTS_MAX: usize = 16;
/// Timeout for connecting to one server.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// If sent bytes stay unacknowledged for this long, the server counts as gone.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// The consistency of reads during a failover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Every read sees all changes that were acknowledged before it began. If the database is replicated, responses
    /// wait for a commit that the standby confirms; all reads that wait at the same time share it.
    #[default]
    Linearizable,
    /// Responses do not wait. A server that was replaced without noticing may return stale data until it is stopped.
    Primary,
}

/// The address of the database, and its settings.
#[derive(Clone)]
pub struct PostgresUrl {
    /// One for each server.
    pub(crate) servers: Vec<Config>,
    pub(crate) tls: Tls,
    pub(crate) pool: usize,
    pub(crate) reads: Reads,
    shown: String,
    text: String,
}

impl PartialEq for PostgresUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PostgresUrl {}

impl PostgresUrl {
    /// The same database, with a setting for its sessions.
    pub fn with_option(mut self, option: &str) -> Self {
        self.text = format!("{} {option}", self.text);
        for server in &mut self.servers {
            let options = server.get_options().map_or_else(String::new, |given| format!("{given} "));
            server.options(format!("{options}-c {option}"));
        }
        self
    }
}

impl FromStr for PostgresUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        if query.contains('@') {
            // The rest may be part of a password, which must not appear in an error.
            return Err("write a ? in a user name or password as %3F, and an @ in a parameter as %40".into());
        }
        let mut own = Own { pool: POOL_DEFAULT, reads: Reads::default(), mode: "prefer", root: None };
        let mut passed = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !own.take(name, value)? {
                passed.push(pair);
            }
        }
        let config: Config = format!("{base}?{}", passed.join("&")).parse().map_err(explain)?;
        let servers = servers(&config, own.mode)?;
        let tls = Tls::new(own.mode, own.root.as_deref())?;
        let (shown, text) = (without_password(text), text.to_owned());
        Ok(Self { servers, tls, pool: own.pool, reads: own.reads, shown, text })
    }
}

/// The settings that PostgreSQL's driver does not support.
struct Own<'a> {
    pool: usize,
    reads: Reads,
    mode: &'a str,
    root: Option<String>,
}

impl<'a> Own<'a> {
    /// Handles a setting; `false` if it is not one of Lazuli's.
    fn take(&mut self, name: &str, value: &'a str) -> Result<bool, String> {
        match (name, value) {
            ("pool", _) => {
                let count = value.parse().ok().filter(|count| (1..=POOL_MAX).contains(count));
                self.pool =
                    count.ok_or_else(|| format!("invalid pool; expected a number from 1 to {POOL_MAX}"))?;
            }
            ("reads", "linearizable") => self.reads = Reads::Linearizable,
            ("reads", "primary") => self.reads = Reads::Primary,
            ("reads", _) => return Err("invalid reads; expected linearizable or primary".into()),
            ("sslmode", "disable" | "prefer" | "require" | "verify-full") => self.mode = value,
            ("sslmode", _) => {
                return Err("invalid sslmode; expected disable, prefer, require or verify-full".into());
            }
            ("sslrootcert", _) => self.root = Some(value.to_owned()),
            // The server that accepts writes is always searched for among all configured ones.
            ("target_session_attrs", "read-write" | "primary" | "any") => {}
            ("target_session_attrs", _) => {
                return Err("invalid target_session_attrs; expected read-write".into());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn explain(error: tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    format!("not a PostgreSQL URL: {cause}")
}

/// One configuration for each server in the URL.
fn servers(config: &Config, mode: &str) -> Result<Vec<Config>, String> {
    let hosts = config.get_hosts();
    if hosts.is_empty() || hosts.len() > HOSTS_MAX {
        return Err(format!("the URL has no host, or more than {HOSTS_MAX}"));
    }
    if !config.get_hostaddrs().is_empty() {
        return Err("hostaddr is not supported; use the host of the URL".into());
    }
    let ports = config.get_ports();
    let server = |(index, host): (usize, &Host)| {
        let mut server = Config::new();
        match host {
            Host::Tcp(name) => server.host(name),
            Host::Unix(path) => server.host_path(path),
        };
        server.port(*ports.get(index).or(ports.first()).unwrap_or(&5432));
        config.get_user().map(|user| server.user(user));
        config.get_password().map(|password| server.password(password));
        config.get_dbname().map(|name| server.dbname(name));
        config.get_options().map(|options| server.options(options));
        server.application_name(config.get_application_name().unwrap_or("lazuli"));
        server.connect_timeout(*config.get_connect_timeout().unwrap_or(&CONNECT_TIME_MAX));
        server.tcp_user_timeout(*config.get_tcp_user_timeout().unwrap_or(&SILENCE_MAX));
        server.keepalives_idle(SILENCE_MAX);
        server.ssl_mode(match mode {
            "disable" => SslMode::Disable,
            "prefer" => SslMode::Prefer,
            _ => SslMode::Require,
        });
        server
    };
    Ok(hosts.iter().enumerate().map(server).collect())
}

/// Hides the password: it must not appear in logs.
fn without_password(text: &str) -> String {
    let base = text.split('?').next().unwrap_or(text);
    match (base.split_once("://"), base.rsplit_once('@')) {
        (Some((scheme, rest)), Some((_, hosts))) => {
            let user = rest.split([':', '@']).next().unwrap_or_default();
            format!("{scheme}://{user}@{hosts}")
        }
        _ => base.to_owned(),
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url: PostgresUrl =
            "postgres://me:secret@one:6000,two/db?target_session_attrs=read-write&pool=3&reads=primary&application_name=x"
                .parse()
                .unwrap();
        assert_eq!((url.servers.len(), url.pool, url.reads), (2, 3, Reads::Primary));
        assert_eq!(url.servers[0].get_ports(), [6000]);
        assert_eq!(url.servers[1].get_hosts(), [Host::Tcp("two".into())]);
        assert_eq!(url.servers[1].get_application_name(), Some("x"));
        assert_eq!(url.to_string(), "postgres://me@one:6000,two/db", "the password is not shown");
        let option = url.with_option("search_path=a").with_option("work_mem=1MB");
        assert_eq!(option.servers[0].get_options(), Some("-c search_path=a -c work_mem=1MB"));
    }

    #[test]
    fn rejected() {
        for bad in [
            "postgres://",
            "postgres:///db",
            "postgres://h/db?pool=0",
            "postgres://h/db?reads=any",
            "postgres://h/db?sslmode=allow",
            "postgres://h/db?sslmode=verify-full&sslrootcert=/nowhere",
            "postgres://h/db?target_session_attrs=read-only",
            "postgres://h/db?nonsense=1",
            "postgres://me:a?b@h/db",
        ] {
            assert!(bad.parse::<PostgresUrl>().is_err(), "{bad}");
        }
    }
}
