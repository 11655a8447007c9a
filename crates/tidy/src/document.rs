//! Rules for documents: ARCHITECTURE.md describes every crate, and every path of the repository in a document
//! exists.

use std::path::Path;

/// Folders in the root of the repository that guides refer to.
const FOLDERS: [&str; 4] = ["crates", "fuzz", "packaging", "tests"];

/// Paths in backticks that do not exist, in the document `name`. A path may leave out `crates/`, `src/` and `.rs`, as in
/// `server/http/head`.
pub fn missing_paths(name: &str, document: &str, root: &Path) -> Vec<String> {
    missing(name, document, root, |_| true)
}

/// Paths in a guide that do not exist, among those that start with a crate or one of `FOLDERS`. Other paths are
/// assumed to be on the reader's machine.
pub fn missing_sources(name: &str, document: &str, root: &Path) -> Vec<String> {
    missing(name, document, root, |first| {
        FOLDERS.contains(&first) || root.join("crates").join(first).join("Cargo.toml").exists()
    })
}

/// The missing ones among the paths whose first part is checked.
fn missing(name: &str, document: &str, root: &Path, is_checked: impl Fn(&str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in document.lines().enumerate() {
        for path in line.split('`').skip(1).step_by(2).filter(|code| is_path(code)) {
            let first = path.split('/').next().unwrap_or_default();
            let exists = || candidates(path).iter().any(|candidate| root.join(candidate).exists());
            if is_checked(first) && !exists() {
                problems.push(format!("{name}:{}: `{path}` does not exist", number + 1));
            }
        }
    }
    problems
}

/// Crates that ARCHITECTURE.md does not mention in a table.
pub fn missing_crates(document: &str, crates: &[String]) -> Vec<String> {
    let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
    let described = |name: &str| {
        rows.iter().any(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(&format!("`{name}`"))))
    };
    let problem =
        |name: &String| format!("ARCHITECTURE.md: add a row for the crate `{name}` to the table of crates");
    crates.iter().filter(|name| !described(name)).map(problem).collect()
}

fn is_path(code: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    code.contains('/') && !code.starts_with('/') && code.chars().all(allowed)
}

fn candidates(path: &str) -> Vec<String> {
    let mut bases = vec![path.to_owned(), format!("crates/{path}")];
    if let Some((name, rest)) = path.split_once('/') {
        bases.push(format!("crates/{name}/src/{rest}"));
    }
    let files: Vec<String> = bases.iter().map(|base| format!("{base}.rs")).collect();
    bases.into_iter().chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_leave_out_what_is_the_same_everywhere() {
        let root = crate::tree::root();
        let document =
            "`tidy/document`, `crates/tidy/src/token.rs`, `tidy/src`, `a b/c`, `/dev/null`\n`tidy/nowhere`";
        assert_eq!(missing_paths("A.md", document, &root), ["A.md:2: `tidy/nowhere` does not exist"]);
    }

    #[test]
    fn guides_may_name_paths_of_other_machines() {
        let document = "`./lazuli-data`, `containers/NAME`\n`tidy/nowhere`, `tests/nowhere`";
        let expected = ["A.md:2: `tidy/nowhere` does not exist", "A.md:2: `tests/nowhere` does not exist"];
        assert_eq!(missing_sources("A.md", document, &crate::tree::root()), expected);
    }

    #[test]
    fn crates_have_a_row() {
        let document = "| `a`, `b` | two crates |\n| x | `c` |";
        let crates = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(missing_crates(document, &crates).len(), 1);
    }
}
