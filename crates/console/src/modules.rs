//! Determines the modules that the page needs before it can show anything, so that the browser can fetch them
//! all at once.
//!
//! Views are imported when they are shown (`import(…)`), so the list contains neither views nor modules that only views
//! use.

use crate::File;

/// The module and everything that it imports statically, each once.
pub fn imported_by(name: &str, files: &'static [File]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        let Some(file) = files.iter().find(|file| file.name == name) else { continue };
        if found.contains(&file.name) {
            continue;
        }
        found.push(file.name);
        waiting.extend(imports(file.bytes).map(|import| resolve(file.name, import)));
    }
    found.sort_unstable();
    found
}

/// The relative names in the static imports of a module. There is one per line.
fn imports(module: &'static [u8]) -> impl Iterator<Item = &'static str> {
    let text = std::str::from_utf8(module).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("import "));
    lines.filter_map(|line| line.split_once(" from '")?.1.split('\'').next())
}

/// The name of a file that is given relative to another.
fn resolve(from: &str, relative: &str) -> String {
    let mut segments: Vec<&str> = from.split('/').collect();
    segments.pop();
    for segment in relative.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FILES;

    #[test]
    fn every_import_names_a_file() {
        for file in FILES.iter().filter(|file| file.name.ends_with(".js")) {
            for import in imports(file.bytes) {
                let name = resolve(file.name, import);
                assert!(FILES.iter().any(|file| file.name == name), "{} imports {name}", file.name);
            }
        }
    }

    #[test]
    fn views_are_not_among_the_modules_that_the_page_starts_with() {
        let first = imported_by("app.js", FILES);
        assert!(first.contains(&"ui/shell.js") && first.contains(&"lib/sign.js"), "{first:?}");
        assert!(!first.contains(&"pages/table.js") && !first.contains(&"ui/grid.js"), "{first:?}");
    }
}
