//! Layers: the allowed dependencies of each crate, and the files in which restricted names may occur.

use crate::Exception;
use crate::token::{Token, tokens};
use crate::tree::File;

/// A crate, the crates of this repository that it may use, and the advice to print when it uses another.
#[derive(Debug)]
pub struct Layer {
    /// The crate, without `lazuli-`.
    pub name: &'static str,
    /// The crates below it.
    pub uses: &'static [&'static str],
    /// The place for code that needs more.
    pub advice: &'static str,
}

/// Names that may occur only in some files.
#[derive(Debug)]
pub struct Restriction {
    /// The names: `fs`, or paths such as `std::fs`.
    pub names: &'static [&'static str],
    /// The crates that the rule applies to.
    pub crates: &'static [&'static str],
    /// Files and folders that may use them.
    pub allowed: &'static [Exception],
    /// The place for code that needs them.
    pub advice: &'static str,
}

/// Dependencies that [`Layer`] does not allow. Test dependencies are not checked.
pub fn wrong_dependencies(manifests: &[File], layers: &[Layer]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in manifests {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.split('/').next()) else {
            continue;
        };
        let Some(layer) = layers.iter().find(|layer| layer.name == name) else {
            problems
                .push(format!("{}: unknown crate; give it a layer in crates/tidy/tests/tidy.rs", file.path));
            continue;
        };
        for used in dependencies(&file.text).filter(|used| !layer.uses.contains(used)) {
            problems.push(format!("{}: {name} may not use {used}; {}", file.path, layer.advice));
        }
    }
    problems
}

/// Crates of this repository in the sections for dependencies, without those of tests and build scripts.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut applies = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            applies = line == "[dependencies]" || line.ends_with(".dependencies]");
        }
        let name = line.strip_prefix("lazuli-").filter(|_| applies)?;
        name.split(['.', ' ', '=']).next()
    })
}

/// Uses of restricted names outside the files that may use them.
pub fn restricted_names(files: &[File], restrictions: &[Restriction]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| !file.is_unit_test()) {
        let Some((name, _)) = file.in_src() else { continue };
        let text = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        let found = tokens(text);
        for restriction in restrictions {
            if !restriction.crates.contains(&name) || Exception::covers(restriction.allowed, &file.path) {
                continue;
            }
            for (used, line) in uses(&found, restriction.names) {
                problems.push(format!("{}:{line}: uses `{used}`; {}", file.path, restriction.advice));
            }
        }
    }
    problems
}

/// Where any of the names occurs. A path also matches a list: `std::fs` matches `use std::{fs, io}`.
fn uses<'a>(found: &[Token<'_>], names: &'a [&'a str]) -> Vec<(&'a str, usize)> {
    let mut problems = Vec::new();
    for name in names {
        let (root, last) = name.rsplit_once("::").map_or((None, *name), |(root, last)| (Some(root), last));
        let (mut base, mut depth) = ("", 0_usize);
        for (at, token) in found.iter().enumerate() {
            match token.text {
                "{" if at >= 2 && found[at - 1].text == "::" => {
                    base = if depth == 0 { found[at - 2].text } else { base };
                    depth += 1;
                }
                "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let direct = at >= 2 && found[at - 1].text == "::" && Some(found[at - 2].text) == root;
            let listed = depth == 1 && Some(base) == root;
            if token.text == last && (root.is_none() || direct || listed) {
                problems.push((*name, token.line));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_tests_are_free() {
        let manifest = "[dependencies]\nlazuli-model.workspace = true\n[dev-dependencies]\nlazuli-store.workspace = true\n\
                        [target.'cfg(unix)'.dependencies]\nlazuli-engine = { workspace = true }\n";
        assert_eq!(dependencies(manifest).collect::<Vec<_>>(), ["model", "engine"]);
    }

    #[test]
    fn a_layer_uses_what_is_below_it() {
        let layers = [Layer { name: "service", uses: &["model"], advice: "move it" }];
        let manifest = |path: &str, text: &str| [File { path: path.into(), text: text.into() }];
        let text = "[dependencies]\nlazuli-model.workspace = true\nlazuli-protocol.workspace = true\n";
        let problems = wrong_dependencies(&manifest("crates/service/Cargo.toml", text), &layers);
        assert_eq!(problems, ["crates/service/Cargo.toml: service may not use protocol; move it"]);
        assert_eq!(wrong_dependencies(&manifest("crates/new/Cargo.toml", ""), &layers).len(), 1);
    }

    #[test]
    fn restricted_names_are_found_in_paths_and_lists() {
        let cases = [
            ("use std::fs;", 1),
            ("use std::fs::File;", 1),
            ("use std::{fs, io};", 1),
            ("use std::{io, path::{Path, fs}};", 0),
            ("let fs = 1; other::fs()", 0),
            ("TcpStream::connect()", 1),
        ];
        for (text, expected) in cases {
            assert_eq!(uses(&tokens(text), &["std::fs", "TcpStream"]).len(), expected, "{text}");
        }
    }
}
