//! The rules of ARCHITECTURE.md, applied to this repository. The tables here are the rules; change them together with
//! that document.

use std::fs;

use lazuli_tidy::layers::{Layer, Restriction};
use lazuli_tidy::names::SharedName;
use lazuli_tidy::tree::{self, File};
use lazuli_tidy::{Exception, document, files, layers, names, services};

/// Which crate may use which, from the bottom up.
const LAYERS: &[Layer] = &[
    Layer {
        name: "model",
        uses: &[],
        advice: "the model is plain data; code that needs more belongs in service or protocol",
    },
    Layer { name: "digest", uses: &["model"], advice: "it computes checksums and nothing else" },
    Layer {
        name: "filter",
        uses: &["model"],
        advice: "a filter sees rows of the model, never a request or an engine",
    },
    Layer {
        name: "protocol",
        uses: &["digest", "filter", "model"],
        advice: "code that touches stored data belongs in service, sockets in server",
    },
    Layer {
        name: "engine",
        uses: &[],
        advice: "an engine sees keys, values and versions; their meaning belongs in service",
    },
    Layer {
        name: "store",
        uses: &["engine"],
        advice: "an engine sees keys, values and versions; their meaning belongs in service",
    },
    Layer {
        name: "postgres",
        uses: &["engine"],
        advice: "an engine sees keys, values and versions; their meaning belongs in service",
    },
    Layer {
        name: "objects",
        uses: &["engine"],
        advice: "it stores content by name; what the content means belongs in service",
    },
    Layer {
        name: "archive",
        uses: &["engine"],
        advice: "a backup copies rows unread; their meaning belongs in service",
    },
    Layer {
        name: "service",
        uses: &["digest", "engine", "filter", "model"],
        advice: "headers, statuses and formats belong in protocol",
    },
    Layer { name: "console", uses: &[], advice: "it is plain data; sockets and accounts belong in server" },
    Layer {
        name: "server",
        uses: &["archive", "console", "digest", "engine", "model", "protocol", "service"],
        advice: "rules belong in service, formats in protocol; the binary picks the engine",
    },
    Layer { name: "client-derive", uses: &[], advice: "a macro only sees source text" },
    Layer {
        name: "client",
        uses: &["client-derive", "filter", "model", "protocol"],
        advice: "the client links no server code",
    },
    Layer {
        name: "embedded",
        uses: &["client", "engine", "protocol", "server", "service", "store"],
        advice: "it connects client and server and adds nothing",
    },
    Layer {
        name: "probe",
        uses: &["model", "protocol"],
        advice: "it sends requests and knows nothing of servers",
    },
    Layer {
        name: "conformance",
        uses: &["model", "probe", "protocol"],
        advice: "it talks to any server over the wire",
    },
    Layer {
        name: "bench",
        uses: &["digest", "model", "probe", "protocol", "server"],
        advice: "it talks to any server over the wire",
    },
    Layer {
        name: "trial",
        uses: &["engine", "model", "probe", "protocol", "server", "store"],
        advice: "it starts servers and talks to them over the wire",
    },
    Layer {
        name: "simulation",
        uses: &["engine", "model", "probe", "protocol", "server", "service"],
        advice: "it runs servers on an engine of its own, without sockets, files or threads",
    },
    Layer {
        name: "cli",
        uses: &[
            "archive",
            "bench",
            "client",
            "conformance",
            "digest",
            "embedded",
            "engine",
            "model",
            "objects",
            "postgres",
            "probe",
            "protocol",
            "server",
            "service",
            "store",
            "trial",
        ],
        advice: "commands use the crates that do the work",
    },
    Layer { name: "tidy", uses: &[], advice: "it must stay quick to build" },
];

/// Names that only some modules may use: I/O happens in a few places, so that tests can replace each.
const RESTRICTIONS: &[Restriction] = &[
    Restriction {
        names: &[
            "std::fs",
            "std::thread",
            "std::process",
            "TcpStream",
            "TcpListener",
            "UdpSocket",
            "SystemTime",
            "Instant",
        ],
        crates: &["model", "digest", "filter", "protocol"],
        allowed: &[Exception {
            path: "crates/model/src/time/system.rs",
            reason: "converts a SystemTime, reads no clock",
        }],
        advice: "this layer does no I/O and reads no clock; pass the value as an argument",
    },
    Restriction {
        names: &[
            "lazuli_engine::Row",
            "lazuli_engine::RowView",
            "lazuli_engine::Write",
            "lazuli_engine::Change",
            "lazuli_engine::Scan",
            "lazuli_engine::Page",
            "lazuli_engine::KeyRange",
            "lazuli_engine::TableId",
            "lazuli_engine::Update",
            "lazuli_engine::types",
            "lazuli_engine::keycode",
        ],
        crates: &["server"],
        allowed: &[],
        advice: "the server never looks into rows; code that needs them belongs in service",
    },
    Restriction {
        names: &["TcpStream", "TcpListener"],
        crates: &["server"],
        allowed: &[
            Exception { path: "crates/server/src/listen.rs", reason: "accepts connections" },
            Exception { path: "crates/server/src/ports.rs", reason: "binds the listeners" },
            Exception { path: "crates/server/src/run.rs", reason: "passes the listeners on" },
            Exception { path: "crates/server/src/outbound/connect.rs", reason: "connects to other servers" },
            Exception { path: "crates/server/src/tls", reason: "wraps accepted connections" },
        ],
        advice: "sockets belong in listen, ports or outbound/connect",
    },
];

/// Shared code that may name the folders of services.
const NAMES_SERVICES: &[Exception] = &[
    Exception { path: "crates/protocol/src/auth/shared_key", reason: "its own `table` is a string to sign" },
    Exception {
        path: "crates/protocol/src/reply.rs",
        reason: "reads error bodies in the formats of all services",
    },
    Exception { path: "crates/protocol/src/xml/tree.rs", reason: "reads text as Atom does" },
    Exception { path: "crates/server/src/pipeline", reason: "hands each request to its service" },
    Exception {
        path: "crates/server/src/analytics",
        reason: "metrics of all services are entities of tables",
    },
    Exception { path: "crates/server/src/events", reason: "puts events of blobs into queues" },
    Exception { path: "crates/server/src/config.rs", reason: "sizes limits by the largest page" },
    Exception { path: "crates/service/src/error.rs", reason: "converts the errors of all services" },
    Exception { path: "crates/server/src/run.rs", reason: "starts the background work of all services" },
    Exception { path: "crates/server/src/state.rs", reason: "holds the state of all services" },
    Exception { path: "crates/service/src/sweep.rs", reason: "erases the rows of all services" },
    Exception { path: "crates/service/src/inspect.rs", reason: "reads the rows of all services" },
];

/// Files that may be longer than the rest.
const LONG_FILES: &[Exception] = &[];

/// Names of types that several crates or modules define with the same meaning.
const SHARED_NAMES: &[SharedName] = &[
    SharedName { name: "Builder", reason: "builds the type of its module, as is usual in Rust" },
    SharedName { name: "Connection", reason: "an HTTP connection of the probe, asynchronous or blocking" },
    SharedName { name: "Error", reason: "the error of its crate, as is usual in Rust" },
    SharedName { name: "Options", reason: "the settings of its crate, as is usual in Rust" },
    SharedName { name: "Response", reason: "an HTTP response, as a server makes it or a client gets it" },
    SharedName { name: "Result", reason: "a result with the error of its crate, as is usual in Rust" },
    SharedName { name: "Table", reason: "the client's handle of a table, asynchronous or blocking" },
];

/// Crates whose types are commands: they are named as on the command line.
const COMMANDS: &[&str] = &["cli"];

/// Crates whose names are not compared with those of others. Users of the client see no other crate, and its names are
/// those of Azure's libraries; no crate uses the rules.
const SEPARATE: &[&str] = &["client", "client-derive", "tidy"];

fn sources() -> Vec<File> {
    tree::files("rs").expect("the repository can be read")
}

fn manifests() -> Vec<File> {
    let manifests = tree::files("toml").expect("the repository can be read");
    manifests
        .into_iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
        .collect()
}

fn architecture() -> String {
    fs::read_to_string(tree::root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md can be read")
}

#[track_caller]
fn assert_none(problems: Vec<String>) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_file_has_a_header() {
    assert_none(files::without_header(&sources()));
}

#[test]
fn no_file_is_too_long() {
    assert_none(files::too_long(&sources(), LONG_FILES));
}

#[test]
fn modules_follow_one_convention() {
    let source = |file: &File| file.in_src().is_some();
    assert_none(files::wrong_module_file(&sources().into_iter().filter(source).collect::<Vec<_>>()));
}

#[test]
fn service_folders_never_name_each_other() {
    assert_none(services::references_between_services(&sources(), &[]));
}

#[test]
fn shared_code_names_no_service_folder() {
    assert_none(services::references_to_services(&sources(), NAMES_SERVICES));
}

#[test]
fn crates_use_only_the_layers_below_them() {
    assert_none(layers::wrong_dependencies(&manifests(), LAYERS));
}

#[test]
fn restricted_names_stay_in_their_modules() {
    assert_none(layers::restricted_names(&sources(), RESTRICTIONS));
}

#[test]
fn a_type_name_has_one_meaning_in_its_crate() {
    assert_none(names::defined_twice(&sources(), COMMANDS, SHARED_NAMES));
}

#[test]
fn an_exported_type_name_has_one_meaning() {
    assert_none(names::exported_twice(&sources(), SEPARATE, SHARED_NAMES));
}

#[test]
fn architecture_names_paths_that_exist() {
    assert_none(document::missing_paths("ARCHITECTURE.md", &architecture(), &tree::root()));
}

#[test]
fn guides_name_paths_that_exist() {
    let guides = tree::guides().expect("the repository can be read");
    let missing = |file: &File| document::missing_sources(&file.path, &file.text, &tree::root());
    assert_none(guides.iter().flat_map(missing).collect());
}

#[test]
fn architecture_describes_every_crate() {
    let name = |file: File| file.path.split('/').nth(1).map(str::to_owned);
    let crates: Vec<String> = manifests().into_iter().filter_map(name).collect();
    assert_none(document::missing_crates(&architecture(), &crates));
}

/// An exception for a path that no longer exists must be removed.
#[test]
fn exceptions_name_paths_that_exist() {
    let allowed = RESTRICTIONS.iter().flat_map(|restriction| restriction.allowed);
    for exception in allowed.chain(NAMES_SERVICES).chain(LONG_FILES) {
        assert!(
            tree::root().join(exception.path).exists(),
            "{} does not exist: {}",
            exception.path,
            exception.reason
        );
    }
}
