//! Every flag is a variable and a key; the source with the higher priority wins; mistakes are explained with
//! their line.

use super::*;
use clap::CommandFactory as _;

fn root() -> Command {
    let mut root = crate::Cli::command();
    root.build();
    root
}

fn serve() -> Command {
    root().find_subcommand("serve").unwrap().clone()
}

/// The command line that results from these flags, variables and file.
fn merged(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<Vec<String>, String> {
    let args = ["lazuli", "serve"].iter().chain(flags).map(OsString::from).collect();
    let find = |name: &str| {
        variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
    };
    let file = File::parse(file).map_err(|mistake| mistake.to_string())?;
    let merged = merge(&root(), args, &find, Some(&file))?;
    Ok(merged.args[2..].iter().map(|arg| arg.to_str().unwrap().to_owned()).collect())
}

/// The table of names: every flag in the help has a variable and a key, and both take effect.
#[test]
fn every_flag_is_a_variable_and_a_key() {
    let settings = settings(&serve());
    assert!(settings.len() > 20, "{}", settings.len());
    for setting in settings.iter().filter(|setting| setting.is_key) {
        let Setting { key, flag, variable, .. } = setting;
        let (text, toml, wanted) = match setting.shape {
            Arity::Switch => ("true", "true", flag.clone()),
            Arity::Value | Arity::MaybeValue => ("7", "7", format!("{flag}=7")),
            Arity::List | Arity::MaybeList => ("7", "['7']", format!("{flag}=7")),
        };
        let from_file = merged(&[], &[], &format!("{key} = {toml}"));
        for (name, found) in [(key, from_file), (variable, merged(&[], &[(variable, text)], ""))] {
            match found {
                Ok(args) => assert_eq!(args, [wanted.as_str()], "{name}"),
                // Not every setting accepts seven, but each one is known and reports the invalid value.
                Err(why) => {
                    assert!(why.contains("invalid value") && why.contains(flag.as_str()), "{name}: {why}")
                }
            }
        }
    }
    let mut names: Vec<&str> = settings.iter().map(|setting| setting.variable.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), settings.len(), "no two share a name");
    assert!(!names.contains(&"LAZULI_ACCOUNTS"), "that one means something else");
}

/// Variables are parsed only here, so that an error names the variable.
#[test]
fn flags_read_no_variables() {
    for arg in serve().get_arguments() {
        assert!(arg.get_env().is_none(), "{}", arg.get_id());
    }
}

#[test]
fn the_stronger_source_wins() {
    let file = "table-port = 3\nquery-time = 3";
    let variables = [("LAZULI_TABLE_PORT", "2")];
    assert_eq!(
        merged(&["--table-port", "1"], &variables, file).unwrap(),
        ["--table-port", "1", "--query-time=3"]
    );
    assert_eq!(merged(&["--tablePort=1"], &variables, "").unwrap(), ["--tablePort=1"]);
    assert_eq!(merged(&[], &variables, file).unwrap(), ["--table-port=2", "--query-time=3"]);
    assert_eq!(
        merged(&[], &[("LAZULI_TABLE_PORT", "")], file).unwrap(),
        ["--table-port=3", "--query-time=3"]
    );
    assert_eq!(merged(&[], &[("LAZULI_QUIET", "false")], "quiet = true").unwrap(), [""; 0]);
    // Settings that exclude each other are one choice, made by the source with the highest priority.
    assert_eq!(merged(&["--engine", "memory:"], &[], "location = 'x'").unwrap(), ["--engine", "memory:"]);
    assert_eq!(merged(&["-l", "x"], &[("LAZULI_ENGINE", "memory:")], "").unwrap(), ["-l", "x"]);
}

/// One of two settings that belong together may come from another source.
#[test]
fn settings_that_belong_together_may_have_different_sources() {
    let args = merged(&["--tls-key", "k"], &[], "tls-cert = 'c'").unwrap();
    assert_eq!(args, ["--tls-key", "k", "--tls-cert=c"]);
    let serve = serve();
    let mistakes = File::parse("tls-cert = 'c'").unwrap().mistakes(&serve, &settings(&serve));
    assert!(mistakes.len() == 1 && mistakes[0].what.contains("--tls-key"), "{mistakes:?}");
}

#[test]
fn values_take_the_forms_of_toml() {
    let check = |file: &str, wanted: &[&str]| assert_eq!(merged(&[], &[], file).unwrap(), wanted, "{file}");
    check("max-connections = 1_000", &["--max-connections=1000"]);
    check("location = '/var/lib/a b'", &["--location=/var/lib/a b"]);
    check("trusted-proxy = ['10.0.0.1', '::1']", &["--trusted-proxy=10.0.0.1", "--trusted-proxy=::1"]);
    check("trusted-proxy = '10.0.0.1'", &["--trusted-proxy=10.0.0.1"]);
    check("quiet = false # not now", &[]);
    check("blob-versioning = true", &["--blob-versioning"]);
    check("blob-versioning = false", &[]);
    check("blob-versioning = ['a', 'b']", &["--blob-versioning=a", "--blob-versioning=b"]);
    let variable = |value| merged(&[], &[("LAZULI_BLOB_VERSIONING", value)], "").unwrap();
    assert_eq!(variable("true"), ["--blob-versioning"]);
    assert_eq!(variable("a,b"), ["--blob-versioning=a", "--blob-versioning=b"]);
    check("", &[]);
}

#[test]
fn mistakes_are_explained() {
    let check = |file: &str, wanted: &str| {
        let why = merged(&[], &[], file).unwrap_err();
        assert!(why.contains(wanted), "{file}: {why}");
    };
    check("\ntabel-port = 1", "line 2: unknown setting tabel-port; did you mean table-port?");
    check("table_port = 1", "did you mean table-port?");
    check("colour = 'blue'", "config show");
    check("table-port = true", "line 1: table-port expects a value, not true or false");
    check("quiet = 1", "quiet expects true or false, not a number");
    check("table-port = [1, 2]", "expects one value, not a list");
    check("quiet = true\n[limits]\nmax-connections = 5", "line 2: limits: sections are not supported");
    check("[limits]\nmax-connections = 5", "line 1: limits: sections are not supported");
    check("table-port = 70000", "70000");
    check("durability = 'never'", "[possible values: full, relaxed]");
    check("x = ", "line 1: ");
    check("table-port = 10002\nhost = 0.0.0.0", "line 2: invalid");
    check("host = localhost", "strings need quotes");
    check("table-port = 1\ntable-port = 2", "line 2: ");
    check("config = 'x'", "cannot include another");
    check("host = '127.0.0.1'\nlocation = 'a'\nengine = 'memory:'", "line 3: ");
    let check = |variable: &str, value: &str, wanted: &str| {
        let why = merged(&[], &[(variable, value)], "location = 'x'").unwrap_err();
        assert!(why.starts_with(&format!("{variable}: ")) && why.contains(wanted), "{why}");
        assert!(!why.contains("line"), "{why}");
    };
    check("LAZULI_QUIET", "perhaps", "true or false");
    check("LAZULI_TABLE_PORT", "70000", "70000");
    check("LAZULI_ENGINE", "postgres://me:hunter2@db/x?pool=none", "'postgres://me:***@db/x?pool=none'");
}

/// A variable with a wrong name was silently ignored.
#[test]
fn unknown_variables_are_reported() {
    let told = |name: &str, value: &str| {
        unknown_variables(&root(), std::iter::once((name.to_owned(), OsString::from(value)))).join("")
    };
    for (name, wanted) in [
        ("LAZULI_TABEL_PORT", "did you mean LAZULI_TABLE_PORT?"),
        ("LAZULI_PORT", "LAZULI_PORT is not a setting"),
        ("LAZULI_COLOUR_OF_THE_SKY", "config show"),
    ] {
        assert!(told(name, "1").contains(wanted), "{name}: {}", told(name, "1"));
    }
    for (name, value) in [
        ("LAZULI_TABLE_PORT", "1"),
        ("LAZULI_CONFIG", "x"),
        ("LAZULI_ACCOUNTS", "x"),
        ("LAZULI_CRASH_AT", "x"),
        ("LAZULI_PORT", "tcp://10.0.0.1:10002"),
        ("LAZULI_PORT_10002_TCP", "x"),
        ("LAZULI_SERVICE_HOST", "x"),
        ("AZURITE_ACCOUNTS", "x"),
    ] {
        assert_eq!(told(name, value), "", "{name}");
    }
}
