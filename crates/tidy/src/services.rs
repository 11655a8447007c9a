//! Service folders: `table/`, `queue/` and `blob/` never refer to each other, and shared code refers to none of
//! them.
//!
//! A service folder is a folder (or a file) of one of these names in one of [`CRATES`]. Code that two services need lives
//! next to their folders, never inside one.

use crate::Exception;
use crate::token::{Token, tokens};
use crate::tree::File;

/// The names of service folders.
pub const SERVICES: [&str; 3] = ["table", "queue", "blob"];

/// Crates in which folders named after a service belong to that service.
pub const CRATES: [&str; 8] =
    ["bench", "client", "conformance", "model", "protocol", "server", "service", "trial"];

/// Crates whose shared code does not refer to any service. The tools and the client are based on tables, so
/// they are not included.
const LAYERS: [&str; 4] = ["model", "protocol", "server", "service"];

/// The service that the path belongs to: that of the first folder or file named after a service.
pub fn service_of(path: &str) -> Option<&'static str> {
    let part = |part: &str| SERVICES.into_iter().find(|service| *service == part);
    path.trim_end_matches(".rs").split('/').find_map(part)
}

/// References from one service folder to another.
pub fn references_between_services(files: &[File], exceptions: &[Exception]) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, name, own) in in_crates(files) {
        let Some(own) = own else { continue };
        if Exception::covers(exceptions, &file.path) {
            continue;
        }
        for (other, line) in named_services(&file.text).into_iter().filter(|(other, _)| *other != own) {
            problems.push(format!(
                "{}:{line}: the {own} folder names `{other}`; code that both need belongs beside the service folders \
                 of crates/{name}/src, or in lazuli-model",
                file.path
            ));
        }
    }
    problems
}

/// References from shared code to a service folder. The file that declares the folders may refer to them.
pub fn references_to_services(files: &[File], exceptions: &[Exception]) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, name, own) in in_crates(files) {
        let exempt = own.is_some() || file.is_unit_test() || !LAYERS.contains(&name);
        if exempt || declares(&file.text) || Exception::covers(exceptions, &file.path) {
            continue;
        }
        let text = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        for (service, line) in named_services(text) {
            problems.push(format!(
                "{}:{line}: shared code names `{service}`; move what is specific to it to crates/{name}/src/{service}, \
                 or what it needs out of there",
                file.path
            ));
        }
    }
    problems
}

/// Source files of the crates with service folders: file, crate, service.
fn in_crates(files: &[File]) -> impl Iterator<Item = (&File, &str, Option<&'static str>)> {
    files.iter().filter_map(|file| {
        let (name, path) = file.in_src()?;
        CRATES.contains(&name).then(|| (file, name, service_of(path)))
    })
}

/// Does the file declare a service folder as one of its modules?
fn declares(text: &str) -> bool {
    let found = tokens(text);
    found.windows(3).any(|three| {
        three[0].text == "mod" && SERVICES.contains(&three[1].text) && matches!(three[2].text, ";" | "{")
    })
}

/// Services in paths (`queue::Name`, `model::queue`, `use model::{blob, queue}`), with their lines.
fn named_services(text: &str) -> Vec<(&'static str, usize)> {
    let found = tokens(text);
    let mut named = Vec::new();
    let mut imports = false;
    for (at, token) in found.iter().enumerate() {
        match token.text {
            "use" => imports = true,
            ";" => imports = false,
            _ => {}
        }
        let Some(service) = SERVICES.into_iter().find(|service| *service == token.text) else { continue };
        let neighbour =
            |at: Option<usize>| at.and_then(|at| found.get(at)).map(|token: &Token<'_>| token.text);
        let (before, after) = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
        let in_path = before == Some("::") || after == Some("::");
        let in_list = imports && matches!(before, Some("{" | ",")) && matches!(after, Some("," | "}"));
        if (in_path || in_list) && !has_other_meaning(&found, at) {
            named.push((service, token.line));
        }
    }
    named
}

/// `Operation::table` and similar names are functions of types, not folders.
fn has_other_meaning(found: &[Token<'_>], at: usize) -> bool {
    let Some(owner) = at.checked_sub(2).map(|owner| found[owner].text) else { return false };
    found[at - 1].text == "::" && owner.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(rule: fn(&[File], &[Exception]) -> Vec<String>, path: &str, text: &str) -> usize {
        let files = [File { path: path.to_owned(), text: text.to_owned() }];
        rule(&files, &[]).len()
    }

    #[test]
    fn a_service_folder_may_name_itself_and_no_other() {
        let path = "crates/protocol/src/queue/decode.rs";
        let cases = [
            ("use lazuli_model::queue::Message;", 0),
            ("use lazuli_model::table::Entity;", 1),
            ("use lazuli_model::{Failure, blob, queue};", 1),
            ("use crate::{table, xml};", 1),
            ("let table = queue.blob(); f(table, blob)", 0),
            ("// see crate::table::decode\n\"table::decode\"", 0),
            ("Operation::table(&operation)", 0),
            ("super::super::blob::encode()", 1),
        ];
        for (text, expected) in cases {
            assert_eq!(problems(references_between_services, path, text), expected, "{text}");
        }
    }

    #[test]
    fn shared_code_names_no_service_unless_it_declares_it() {
        let (rule, path) = (references_to_services, "crates/server/src/pipeline/mod.rs");
        assert_eq!(problems(rule, path, "use crate::table::process;"), 1);
        assert_eq!(problems(rule, path, "mod tests {}\n#[cfg(test)]\nuse crate::table::process;"), 0);
        assert_eq!(problems(rule, "crates/server/src/lib.rs", "pub mod table; pub use table::Thing;"), 0);
        assert_eq!(problems(rule, "crates/store/src/lib.rs", "use queue::Queue;"), 0);
    }

    #[test]
    fn files_and_folders_belong_to_a_service() {
        assert_eq!(service_of("access/queue.rs"), Some("queue"));
        assert_eq!(service_of("blob/table.rs"), Some("blob"));
        assert_eq!(service_of("tables.rs"), None);
    }
}
