//! Compatibility with the programs of Azurite: a process that is started as `azurite`, `azurite-blob`,
//! `azurite-queue` or `azurite-table` behaves like Azurite towards its parent process.
//!
//! Test tools start Azurite with its command line and wait for its ready lines. So these names, as the name of the program or
//! as the first argument, become `lazuli serve` with Azurite's defaults, and the ready lines are Azurite's.

mod flags;
mod help;

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use lazuli_model::Service;

use flags::{has_name, regular};

/// The flag of `serve` that names the Azurite program that it replaces.
pub const FLAG: &str = "azurite-program";
/// The flag of `serve` for an argument that Azurite ignores.
pub const IGNORED: &str = "azurite-ignored";
/// The store within Azurite's location. Azurite keeps its own files there, under other names.
const STORE: &str = "lazuli-data";

/// One of Azurite's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Program {
    /// All services.
    Azurite,
    /// The Blob service.
    AzuriteBlob,
    /// The Queue service.
    AzuriteQueue,
    /// The Table service.
    AzuriteTable,
}

impl Program {
    fn named(name: &OsStr) -> Option<Self> {
        Self::value_variants().iter().copied().find(|program| name == program.name())
    }

    fn name(self) -> &'static str {
        match self {
            Program::Azurite => "azurite",
            Program::AzuriteBlob => "azurite-blob",
            Program::AzuriteQueue => "azurite-queue",
            Program::AzuriteTable => "azurite-table",
        }
    }

    /// The only service of the program, if there is just one.
    pub fn service(self) -> Option<Service> {
        match self {
            Program::Azurite => None,
            Program::AzuriteBlob => Some(Service::Blob),
            Program::AzuriteQueue => Some(Service::Queue),
            Program::AzuriteTable => Some(Service::Table),
        }
    }

    /// Does the program have this service?
    fn serves(self, service: Service) -> bool {
        self.service().is_none_or(|only| only == service)
    }

    /// The directory of the store: in the location, which is the current directory by default.
    ///
    /// Programs with one service have separate stores: as with Azurite, they can run in one location at the
    /// same time, but only one process can open a store. An existing store of all services is used, because it
    /// may contain their data.
    pub fn store(self, location: Option<&Path>) -> PathBuf {
        let location = location.unwrap_or(Path::new("."));
        let of_all = location.join(STORE);
        match self.service().map(|service| own_store(location, service)) {
            Some(own) if own.exists() || !of_all.exists() => own,
            _ => of_all,
        }
    }

    /// The name of a new store in the location.
    fn subdirectory(self) -> String {
        self.service().map_or(STORE.to_owned(), own_name)
    }

    /// A notice that the location contains data that is not served, from Azurite or from programs with one
    /// service, if there is no store yet.
    pub fn unserved(self, location: Option<&Path>) -> Option<String> {
        let (location, store) = (location.unwrap_or(Path::new(".")), self.store(location));
        if store.exists() {
            return None;
        }
        let (from, to) = (location.display(), store.display());
        let own = |service: &Service| self.service().is_none() && own_store(location, *service).exists();
        if let Some(service) = Service::ALL.iter().find(|service| own(service)) {
            let (label, own) = (service.label(), own_store(location, *service));
            return Some(format!(
                "the data of azurite-{label} in {} is not served; to use it, run azurite-{label}",
                own.display()
            ));
        }
        let has_data =
            Service::ALL.iter().any(|service| self.serves(*service) && database(location, *service).exists());
        has_data.then(|| {
            format!(
                "the data of Azurite in {from} is not served; to copy it, stop this server and run lazuli import --from-azurite \
                 {from} --location {to}"
            )
        })
    }

    /// The lines that the program prints when a service is ready. The wording depends on the program.
    pub fn ready_lines(self, service: Service, scheme: &str, address: SocketAddr) -> String {
        let title = service.title();
        match self {
            Program::Azurite => format!(
                "Azurite {title} service is starting at {scheme}://{address}\n\
                 Azurite {title} service is successfully listening at {scheme}://{address}\n"
            ),
            Program::AzuriteTable => format!(
                "Azurite {title} service is starting on {address}\n\
                 Azurite {title} service successfully started on {address}\n"
            ),
            Program::AzuriteBlob | Program::AzuriteQueue => format!(
                "Azurite {title} service is starting on {address}\n\
                 Azurite {title} service successfully listens on {scheme}://{address}\n"
            ),
        }
    }
}

/// The store of a program with one service.
fn own_store(location: &Path, service: Service) -> PathBuf {
    location.join(own_name(service))
}

fn own_name(service: Service) -> String {
    format!("{STORE}-{}", service.label())
}

/// The database of a service in Azurite's location.
pub fn database(location: &Path, service: Service) -> PathBuf {
    location.join(format!("__azurite_db_{}__.json", service.label()))
}

/// The outcome of an Azurite command line that starts no server.
#[derive(Debug, PartialEq, Eq)]
pub enum Unserved {
    /// Print this.
    Help(String),
    /// It is wrong.
    Mistake(String),
}

/// Converts an Azurite command line to one of `lazuli serve`; other command lines stay unchanged.
pub fn translated(args: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Unserved> {
    let mut args: Vec<OsString> = args.collect();
    let by_name = args.first().and_then(|path| Program::named(Path::new(path).file_name()?));
    let by_argument = args.get(1).and_then(|name| Program::named(name));
    let (program, start) = match (by_name, by_argument) {
        // Azurite's containers start one service with `azurite azurite-blob`.
        (_, Some(program)) => (program, 2),
        (Some(program), None) => (program, 1),
        (None, None) => return Ok(args),
    };
    let rest = args.split_off(start);
    let is_command = |name: &str| rest.first().is_some_and(|word| word == name);
    if is_command("version") || rest.iter().any(|flag| flag == "--version" || flag == "-v" || flag == "-V") {
        return Ok(vec!["lazuli".into(), "--version".into()]);
    }
    if is_command("help") || rest.iter().any(|flag| flag == "--help" || flag == "-h") {
        return Err(Unserved::Help(help::text(program)));
    }
    let mut serve: Vec<OsString> = vec!["lazuli".into(), "serve".into()];
    serve.extend([format!("--{FLAG}").into(), OsString::from(program.name())]);
    let flags = regular(rest);
    // Only on the command line: a variable that names a location, as in the container image, is a default.
    let is_in_memory = flags.iter().any(|flag| flag == "--inMemoryPersistence");
    if is_in_memory && flags.iter().any(|flag| has_name(flag, "--location")) {
        let text = "the --inMemoryPersistence option is not supported when the --location option is set";
        return Err(Unserved::Mistake(text.into()));
    }
    serve.extend(flags);
    Ok(serve)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(args: &str) -> String {
        let args = translated(args.split(' ').map(OsString::from)).unwrap();
        args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn azurite_becomes_serve() {
        for (given, expected) in [
            ("lazuli serve -l x", "lazuli serve -l x"),
            ("azurite", "lazuli serve --azurite-program azurite"),
            (
                "/usr/bin/azurite-table -s -l /data",
                "lazuli serve --azurite-program azurite-table --silent --location=/data",
            ),
            ("lazuli azurite --blobPort 0", "lazuli serve --azurite-program azurite --blobPort=0"),
            (
                "azurite azurite-blob --blobHost 0.0.0.0",
                "lazuli serve --azurite-program azurite-blob --blobHost=0.0.0.0",
            ),
            ("azurite --version", "lazuli --version"),
            ("azurite version", "lazuli --version"),
        ] {
            assert_eq!(line(given), expected);
        }
    }

    #[test]
    fn some_command_lines_start_no_server() {
        let unserved = |args: &str| translated(args.split(' ').map(OsString::from)).unwrap_err();
        for help in ["azurite-queue --help", "azurite-queue help", "lazuli azurite-queue -s -h"] {
            assert_eq!(unserved(help), Unserved::Help(help::text(Program::AzuriteQueue)));
        }
        for mistake in ["azurite --inMemoryPersistence -l x", "azurite --location=x --inMemoryPersistence"] {
            assert!(matches!(unserved(mistake), Unserved::Mistake(_)), "{mistake}");
        }
    }

    #[test]
    fn programs_with_one_service_share_a_location() {
        let location = tempfile::tempdir().unwrap();
        let store = |program: Program| program.store(Some(location.path()));
        assert_ne!(store(Program::AzuriteQueue), store(Program::AzuriteTable));
        // The store for the queues of `azurite` is unchanged.
        std::fs::create_dir(location.path().join(STORE)).unwrap();
        assert_eq!(store(Program::AzuriteQueue), store(Program::Azurite));
        assert_eq!(Program::AzuriteQueue.unserved(Some(location.path())), None);
    }

    #[test]
    fn a_store_of_one_service_is_reported_by_azurite() {
        let location = tempfile::tempdir().unwrap();
        std::fs::create_dir(location.path().join("lazuli-data-queue")).unwrap();
        let notice = Program::Azurite.unserved(Some(location.path())).unwrap();
        assert!(notice.contains("run azurite-queue"), "{notice}");
        assert_eq!(Program::AzuriteQueue.unserved(Some(location.path())), None);
    }

    #[test]
    fn ready_lines_are_those_of_azurite() {
        let address = "127.0.0.1:10000".parse().unwrap();
        assert_eq!(
            Program::Azurite.ready_lines(Service::Blob, "http", address),
            "Azurite Blob service is starting at http://127.0.0.1:10000\n\
             Azurite Blob service is successfully listening at http://127.0.0.1:10000\n"
        );
        assert_eq!(
            Program::AzuriteQueue.ready_lines(Service::Queue, "https", address),
            "Azurite Queue service is starting on 127.0.0.1:10000\n\
             Azurite Queue service successfully listens on https://127.0.0.1:10000\n"
        );
        assert_eq!(
            Program::AzuriteTable.ready_lines(Service::Table, "http", address),
            "Azurite Table service is starting on 127.0.0.1:10000\n\
             Azurite Table service successfully started on 127.0.0.1:10000\n"
        );
    }
}
