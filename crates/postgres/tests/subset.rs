//! Keeps all SQL of this crate within the subset that PostgreSQL, YugabyteDB and CockroachDB share.
//!
//! It reads the source, with the string constants that `format!` inserts: a word that is not in the table below is
//! rejected, until somebody has made sure that all three databases know it and has added it here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The keywords that a statement can start with.
const FIRST: &[&str] = &[
    "ALTER", "BEGIN", "COMMIT", "CREATE", "DELETE", "DROP", "EXPLAIN", "INSERT", "LOCK", "MERGE", "ROLLBACK",
    "SELECT", "SET", "SHOW", "TRUNCATE", "UPDATE", "VACUUM", "WITH",
];

/// Words and functions that all three databases know, with the same meaning.
const SHARED: &[&str] = &[
    "AND",
    "ANY",
    "AS",
    "BEGIN",
    "BY",
    "CASE",
    "COMMIT",
    "CONFLICT",
    "CREATE",
    "DELETE",
    "DO",
    "ELSE",
    "END",
    "EXISTS",
    "FOR",
    "FROM",
    "IF",
    "IN",
    "INSERT",
    "INTO",
    "ISOLATION",
    "JOIN",
    "KEY",
    "LEVEL",
    "LIKE",
    "LIMIT",
    "NOT",
    "NOTHING",
    "NULL",
    "OF",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OVER",
    "PRECEDING",
    "PRIMARY",
    "READ",
    "REPEATABLE",
    "RETURNING",
    "ROLLBACK",
    "ROWS",
    "SELECT",
    "SET",
    "TABLE",
    "THEN",
    "UNBOUNDED",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
    "coalesce",
    "count",
    "current_setting",
    "excluded",
    "false",
    "generate_series",
    "greatest",
    "interval",
    "max",
    "min",
    "now",
    "octet_length",
    "sum",
    "true",
    "unnest",
    "version",
];

/// Types that all three databases know under this name.
const TYPES: &[&str] = &["bool", "bytea", "int8", "text", "timestamptz"];

/// Our own names.
const OURS: &[&str] = &[
    "before",
    "changed",
    "counted",
    "e",
    "g",
    "high",
    "holder",
    "lazuli_chunk",
    "lazuli_meta",
    "lazuli_row",
    "lazuli_stream",
    "lazuli_writer",
    "live",
    "low",
    "lpk",
    "lrk",
    "name",
    "one",
    "pk",
    "pos",
    "q",
    "r",
    "rk",
    "seen",
    "slot",
    "stream",
    "swept",
    "tbl",
    "val",
    "value",
    "ver",
    "wanted",
];

/// Statements that are sent to databases of one kind only, or that may fail: a part of each, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("idle_in_transaction_session_timeout", "a setting of a session, chosen by the kind of database"),
    ("SET synchronous_commit = on", "a setting that was found on the server before"),
    ("ALTER TABLE", "how PostgreSQL stores values"),
    ("pg_total_relation_size", "asked of PostgreSQL only"),
    ("pg_logical_emit_message", "sent to a PostgreSQL with standbys only"),
    ("pg_is_in_recovery", "asked of PostgreSQL only"),
    ("pg_walfile_name", "asked of PostgreSQL only"),
];

struct Statement {
    file: String,
    text: String,
    /// Parameters are sent with their types.
    is_typed: bool,
}

#[test]
fn all_sql_is_in_the_shared_subset() {
    let statements = statements();
    assert!(statements.len() > 60, "only {} statements were found", statements.len());
    let problems: Vec<String> = statements.iter().flat_map(problems).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn features_that_one_database_lacks_are_found() {
    for bad in [
        "SELECT pg_advisory_lock(1)",
        "WITH a AS (DELETE FROM lazuli_row RETURNING 1) UPDATE lazuli_meta SET value = 1",
        "SELECT val FROM lazuli_row WHERE tbl = $1",
        "SELECT val FROM lazuli_row WHERE tbl = $1::integer",
        "INSERT INTO lazuli_row SELECT 1 FROM lazuli_meta FOR SHARE",
        "TRUNCATE lazuli_row",
    ] {
        let statement = Statement { file: "a.rs".into(), text: bad.into(), is_typed: false };
        assert!(!problems(&statement).is_empty(), "{bad}");
    }
}

#[test]
fn parts_of_statements_in_constants_are_found() {
    let code = "const GONE: &str = \"seen < clock_timestamp() \\\n    OR live = 0\";\n\
                const MAX: usize = 3;\nlet sql = format!(\"SELECT stream FROM lazuli_stream WHERE {GONE} LIMIT {MAX}\");";
    let parts = constants(code).into_iter().collect();
    let statements = statements_of("a.rs", code, &parts);
    let [statement] = &statements[..] else { panic!("{} statements", statements.len()) };
    let text = "SELECT stream FROM lazuli_stream WHERE seen < clock_timestamp() OR live = 0 LIMIT {MAX}";
    assert_eq!(statement.text, text);
    assert!(problems(statement)[0].contains("clock_timestamp"));
}

fn problems(statement: &Statement) -> Vec<String> {
    let text = &statement.text;
    if EXCEPTIONS.iter().any(|(part, _)| text.contains(part)) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let mut problem = |what: String| problems.push(format!("{}: {what}: {text}", statement.file));
    let (words, types) = words_of(text);
    for word in &words {
        if !SHARED.contains(&word.as_str())
            && !OURS.contains(&word.as_str())
            && !TYPES.contains(&word.as_str())
        {
            problem(format!("`{word}` is not in the shared subset"));
        }
    }
    for name in types.iter().filter(|name| !TYPES.contains(&name.as_str())) {
        problem(format!("the type `{name}` is not in the shared subset"));
    }
    let follows = |at: usize, word: &str| at > 0 && words[at - 1] == word;
    let is_change = |at: usize| match words[at].as_str() {
        "INSERT" | "DELETE" => true,
        "UPDATE" => !follows(at, "DO") && !follows(at, "FOR"),
        _ => false,
    };
    if (0..words.len()).filter(|at| is_change(*at)).count() > 1 {
        problem("CockroachDB rejects several modifications in one statement".into());
    }
    if !statement.is_typed && has_untyped_parameter(text) {
        problem("give every parameter a type, such as $1::int8".into());
    }
    problems
}

/// The words outside of quotes and braces, and the types after `::`.
fn words_of(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut words, mut types, mut word) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut braced, mut is_type) = (false, false, false);
    for char in text.chars().chain([' ']) {
        let is_part = char.is_ascii_alphanumeric() || char == '_';
        if is_part && !quoted && !braced {
            word.push(char);
            continue;
        }
        if !word.is_empty() && !word.starts_with(|first: char| first.is_ascii_digit()) {
            (if is_type { &mut types } else { &mut words }).push(std::mem::take(&mut word));
        }
        word.clear();
        is_type = char == ':';
        match char {
            '\'' => quoted = !quoted,
            '{' => braced = true,
            '}' => braced = false,
            _ => {}
        }
    }
    (words, types)
}

fn has_untyped_parameter(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches(|char: char| char.is_ascii_digit());
        !rest.starts_with("::")
    })
}

/// All statements in the source of this crate, tests excluded.
fn statements() -> Vec<Statement> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources: Vec<(String, String)> = files(&root).iter().map(|path| code(&root, path)).collect();
    let parts = sources.iter().flat_map(|(_, code)| constants(code)).collect();
    sources.iter().flat_map(|(file, code)| statements_of(file, code, &parts)).collect()
}

/// The name of a file, and its source without comments and tests.
fn code(root: &Path, path: &Path) -> (String, String) {
    let source = std::fs::read_to_string(path).expect("source can be read");
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    (path.strip_prefix(root).unwrap_or(path).display().to_string(), code.join("\n"))
}

fn statements_of(file: &str, code: &str, parts: &BTreeMap<String, String>) -> Vec<Statement> {
    let is_typed = file.starts_with("content");
    let is_statement = |text: &String| {
        let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches(';');
        FIRST.contains(&first)
    };
    let texts = strings(code).into_iter().filter(is_statement);
    texts.map(|text| Statement { file: file.into(), text: filled(text, parts), is_typed }).collect()
}

/// The string constants of a source, by name.
fn constants(code: &str) -> Vec<(String, String)> {
    let declared = code.split("const ").skip(1).filter_map(|rest| rest.split_once(": &str ="));
    let named = declared.filter_map(|(name, rest)| Some((name, rest.trim_start().strip_prefix('"')?)));
    named.map(|(name, rest)| (name.to_owned(), string(&mut rest.chars().peekable()))).collect()
}

/// The text with the string constants that `format!` inserts. Other insertions are numbers, or checked by themselves.
fn filled(mut text: String, parts: &BTreeMap<String, String>) -> String {
    for (name, part) in parts {
        text = text.replace(&format!("{{{name}}}"), part);
    }
    text
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).expect("source can be listed").filter_map(|entry| Some(entry.ok()?.path()));
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The string literals of a source.
fn strings(source: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut chars = source.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            // A character, which may be a quote.
            '\'' if chars.peek() == Some(&'"') => drop(chars.next()),
            '"' => strings.push(string(&mut chars)),
            _ => {}
        }
    }
    strings
}

fn string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => match chars.next() {
                // The line continues, without its indentation.
                Some('\n') => while chars.next_if(|char| char.is_whitespace()).is_some() {},
                Some(other) => text.push(other),
                None => break,
            },
            other => text.push(other),
        }
    }
    text
}
