//! Rules for each file: a header, a bounded length, and one convention for module files.

use std::collections::BTreeSet;

use crate::Exception;
use crate::services::SERVICES;
use crate::tree::File;

/// Maximum lines of a file.
pub const LINES_MAX: usize = 450;

/// Every file starts with `//!`: its purpose, and what must stay true.
pub fn without_header(files: &[File]) -> Vec<String> {
    let lacks = |file: &&File| !file.text.starts_with("//!");
    let problem = |file: &File| {
        format!("{}: has no header; open it with `//!` and say what the file is for", file.path)
    };
    files.iter().filter(lacks).map(problem).collect()
}

/// No file grows beyond [`LINES_MAX`].
pub fn too_long(files: &[File], exceptions: &[Exception]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        let lines = file.text.lines().count();
        if lines > LINES_MAX && !Exception::covers(exceptions, &file.path) {
            problems.push(format!(
                "{}: has {lines} lines, at most {LINES_MAX} are allowed; move a part that stands for itself (or the \
                 tests) to a file of its own",
                file.path
            ));
        }
    }
    problems
}

/// A module with a folder is `name/mod.rs`, a module without one is `name.rs`. A service has a folder in any case.
pub fn wrong_module_file(files: &[File]) -> Vec<String> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut problems = Vec::new();
    for path in &paths {
        let folder = path.trim_end_matches(".rs");
        let inside = format!("{folder}/");
        let has_folder = paths.range(inside.as_str()..).next().is_some_and(|next| next.starts_with(&inside));
        if has_folder {
            problems.push(format!("{path}: has the folder {folder}; rename the file to {folder}/mod.rs"));
        }
        let Some(folder) = path.strip_suffix("/mod.rs") else { continue };
        if SERVICES.iter().any(|service| folder.ends_with(&format!("/{service}"))) {
            continue;
        }
        let inside = format!("{folder}/");
        let beside = paths.range(inside.as_str()..).take_while(|path| path.starts_with(&inside));
        if beside.count() == 1 {
            problems.push(format!("{path}: is alone in its folder; rename it to {folder}.rs"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<File> {
        paths.iter().map(|path| File { path: (*path).to_owned(), text: String::new() }).collect()
    }

    #[test]
    fn module_files_follow_one_convention() {
        assert!(
            wrong_module_file(&files(&[
                "a/mod.rs",
                "a/b.rs",
                "c.rs",
                "ab/mod.rs",
                "ab/x.rs",
                "d/queue/mod.rs"
            ]))
            .is_empty()
        );
        let problems = wrong_module_file(&files(&["a.rs", "a/b.rs", "c/mod.rs", "cd/mod.rs", "cd/x.rs"]));
        let renamed: Vec<_> = problems.iter().filter_map(|problem| problem.split(" to ").last()).collect();
        assert_eq!(renamed, ["a/mod.rs", "c.rs"], "{problems:?}");
    }

    #[test]
    fn headers_and_lengths_are_checked() {
        let file = |text: &str| vec![File { path: "a.rs".into(), text: text.into() }];
        assert_eq!(without_header(&file("use b;")).len(), 1);
        assert!(without_header(&file("//! A file.")).is_empty());
        assert!(too_long(&file(&"\n".repeat(LINES_MAX)), &[]).is_empty());
        assert_eq!(too_long(&file(&"\n".repeat(LINES_MAX + 1)), &[]).len(), 1);
        let exception = [Exception { path: "a.rs", reason: "a test" }];
        assert!(too_long(&file(&"\n".repeat(LINES_MAX + 1)), &exception).is_empty());
    }
}
