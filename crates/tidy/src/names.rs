//! Names of types: one that is visible outside its module has one meaning.
//!
//! Inside a crate, two modules do not define the same name; across crates, this holds for the names that a
//! crate exports. The folders of the services are deliberately alike: `queue::Operation` and `blob::Operation`
//! share their meaning.

use std::collections::{BTreeMap, BTreeSet};

use crate::services::service_of;
use crate::token::{Token, tokens};
use crate::tree::File;

/// A name that several modules or crates may define, and the reason.
#[derive(Debug)]
pub struct SharedName {
    /// The name.
    pub name: &'static str,
    /// The meaning that all of its definitions share.
    pub reason: &'static str,
}

/// A type that other modules of its crate can name.
struct Definition<'a> {
    name: &'a str,
    path: &'a str,
    is_pub: bool,
}

/// Names that two modules of a crate define, except in the folders of different services. `exempt` lists crates.
pub fn defined_twice(files: &[File], exempt: &[&str], shared: &[SharedName]) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, files) in by_crate(files, exempt) {
        let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for definition in files.iter().flat_map(|file| definitions(file)) {
            places.entry(definition.name).or_default().push(definition.path);
        }
        for (defined, paths) in places.into_iter().filter(|(defined, _)| !is_shared(defined, shared)) {
            let owners: BTreeSet<_> = paths.iter().map(|path| service_of(path)).collect();
            let is_parallel = owners.len() == paths.len() && !owners.contains(&None);
            if paths.len() > 1 && !is_parallel {
                problems.push(format!(
                    "crates/{name}: `{defined}` has several meanings ({}); say in each name what it is of, as in \
                     `RecordReader`",
                    paths.join(", ")
                ));
            }
        }
    }
    problems
}

/// Names that two crates export. `exempt` lists crates that are not compared with others.
pub fn exported_twice(files: &[File], exempt: &[&str], shared: &[SharedName]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, files) in by_crate(files, exempt) {
        for exported in exports(name, &files) {
            places.entry(exported).or_default().push(name);
        }
    }
    let is_problem = |(name, crates): &(&str, Vec<&str>)| crates.len() > 1 && !is_shared(name, shared);
    let problem = |(name, crates): (&str, Vec<&str>)| {
        format!(
            "`{name}` is exported by {}; say in each name what it is of, or list it in crates/tidy/tests/tidy.rs with \
             the meaning that all share",
            crates.join(", ")
        )
    };
    places.into_iter().filter(is_problem).map(problem).collect()
}

fn is_shared(name: &str, shared: &[SharedName]) -> bool {
    shared.iter().any(|exception| exception.name == name)
}

/// The source files of each crate, without tests.
fn by_crate<'a>(files: &'a [File], exempt: &[&str]) -> BTreeMap<&'a str, Vec<&'a File>> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_unit_test()) {
        if let Some((name, _)) = file.in_src().filter(|(name, _)| !exempt.contains(name)) {
            crates.entry(name).or_default().push(file);
        }
    }
    crates
}

/// The names that users of a crate can access: those in public modules, or in a `pub use` of one.
fn exports<'a>(name: &str, files: &[&'a File]) -> BTreeSet<&'a str> {
    let defined: Vec<Definition<'_>> =
        files.iter().flat_map(|file| definitions(file)).filter(|definition| definition.is_pub).collect();
    let mut found = BTreeSet::new();
    let mut waiting = vec![format!("crates/{name}/src/lib.rs")];
    while let Some(path) = waiting.pop() {
        let Some(file) = files.iter().find(|file| file.path == path) else { continue };
        found.extend(
            defined.iter().filter(|definition| definition.path == path).map(|definition| definition.name),
        );
        let folder = path.strip_suffix("/lib.rs").or(path.strip_suffix("/mod.rs"));
        let folder = folder.unwrap_or(path.trim_end_matches(".rs"));
        for statement in statements(&tokens(&file.text)) {
            match statement.as_slice() {
                ["pub", "mod", module] => {
                    waiting.push(format!("{folder}/{module}.rs"));
                    waiting.push(format!("{folder}/{module}/mod.rs"));
                }
                ["pub", "use", names @ ..] if !names[0].starts_with("lazuli_") => {
                    let named = |definition: &&Definition<'_>| names.contains(&definition.name);
                    found.extend(defined.iter().filter(named).map(|definition| definition.name));
                }
                _ => {}
            }
        }
    }
    found
}

/// The types at the top level of a file with any kind of `pub`.
fn definitions(file: &File) -> Vec<Definition<'_>> {
    let mut found = Vec::new();
    for statement in statements(&tokens(&file.text)) {
        let is_pub = statement.get(1) != Some(&"(");
        let rest = match statement.as_slice() {
            ["pub", "(", rest @ ..] => rest.split(|text| *text == ")").nth(1).unwrap_or_default(),
            ["pub", rest @ ..] => rest,
            _ => continue,
        };
        if let [kind, name, ..] = rest.strip_prefix(&["unsafe"]).unwrap_or(rest)
            && matches!(*kind, "struct" | "enum" | "trait" | "type" | "union")
        {
            found.push(Definition { name, path: &file.path, is_pub });
        }
    }
    found
}

/// The statements at the top level that start with `pub`, up to their body or semicolon. The braces of a `use` are kept.
fn statements<'a>(found: &[Token<'a>]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    let (mut depth, mut current): (usize, Option<Vec<&str>>) = (0, None);
    for token in found.iter().map(|token| token.text) {
        let is_use = current.as_ref().is_some_and(|statement| statement.contains(&"use"));
        match token {
            ";" if depth == 0 || is_use => all.extend(current.take()),
            "{" if !is_use => {
                all.extend(current.take());
                depth += 1;
            }
            "}" if !is_use => depth = depth.saturating_sub(1),
            "pub" if depth == 0 && current.is_none() => current = Some(vec![token]),
            _ => {
                if let Some(statement) = &mut current {
                    statement.push(token);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn definitions_are_those_that_other_modules_see() {
        let text = "pub struct A<T> { pub b: T }\nenum C {}\npub(crate) trait D { type E; }\npub type F = u8;\n\
                    mod tests { pub struct G; }\npub use x::{H, y::I};\nimpl A { pub fn j() {} }\npub unsafe trait K {}";
        let file = file("crates/a/src/lib.rs", text);
        let found = definitions(&file);
        let names: Vec<_> = found.iter().map(|definition| (definition.name, definition.is_pub)).collect();
        assert_eq!(names, [("A", true), ("D", false), ("F", true), ("K", true)]);
    }

    #[test]
    fn a_name_has_one_meaning_in_a_crate() {
        let twice = |first: &str, second: &str| {
            let files = [file(first, "pub struct Reader;"), file(second, "pub(super) enum Reader { A }")];
            defined_twice(&files, &["cli"], &[]).len()
        };
        assert_eq!(twice("crates/model/src/log.rs", "crates/model/src/tar.rs"), 1);
        assert_eq!(twice("crates/model/src/queue/log.rs", "crates/model/src/blob/mod.rs"), 0);
        assert_eq!(twice("crates/model/src/queue/log.rs", "crates/model/src/log.rs"), 1);
        assert_eq!(twice("crates/model/src/blob/log.rs", "crates/model/src/blob/mod.rs"), 1);
        assert_eq!(twice("crates/cli/src/log.rs", "crates/cli/src/tar.rs"), 0);
        assert_eq!(twice("crates/model/src/log.rs", "crates/store/src/log.rs"), 0);
    }

    #[test]
    fn an_exported_name_has_one_meaning() {
        let exported = |root: &str| {
            let files = [
                file("crates/a/src/lib.rs", "pub mod log;"),
                file("crates/a/src/log.rs", "pub struct Reader;"),
                file("crates/b/src/lib.rs", root),
                file("crates/b/src/tar/mod.rs", "pub struct Reader;"),
            ];
            exported_twice(&files, &[], &[]).len()
        };
        assert_eq!(exported("mod tar;"), 0);
        assert_eq!(exported("pub mod tar;"), 1);
        assert_eq!(exported("mod tar;\npub use tar::{Other, Reader};"), 1);
        assert_eq!(exported("mod tar;\npub use lazuli_a::log::Reader;"), 0);
        let shared = [SharedName { name: "Reader", reason: "reads" }];
        let files = [
            file("crates/a/src/lib.rs", "pub trait Reader {}"),
            file("crates/b/src/lib.rs", "pub enum Reader {}"),
        ];
        assert_eq!(exported_twice(&files, &[], &[]).len(), 1);
        assert_eq!(exported_twice(&files, &["b"], &[]).len(), 0);
        assert_eq!(exported_twice(&files, &[], &shared).len(), 0);
    }
}
