//! The files of the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A text file.
#[derive(Debug)]
pub struct File {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

impl File {
    /// The crate that the file belongs to, and the path inside its `src`: `crates/server/src/http/head.rs` is
    /// `("server", "http/head.rs")`. `None` for tests, examples and files outside `crates/`.
    pub fn in_src(&self) -> Option<(&str, &str)> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        Some((name, rest.strip_prefix("src/")?))
    }

    /// Is the file part of a crate's unit tests? `tests.rs`, or any file in a folder `tests`.
    pub fn is_unit_test(&self) -> bool {
        self.in_src().is_some_and(|(_, path)| path.ends_with("tests.rs") || path.contains("tests/"))
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of the code with this extension, in the order of their paths. Hidden folders and build results are
/// omitted.
pub fn files(extension: &str) -> io::Result<Vec<File>> {
    files_in(&["crates", "fuzz", "tests"], extension)
}

/// The documents in `docs`, in the order of their paths.
pub fn guides() -> io::Result<Vec<File>> {
    files_in(&["docs"], "md")
}

fn files_in(folders: &[&str], extension: &str) -> io::Result<Vec<File>> {
    let root = root();
    let mut found = Vec::new();
    for folder in folders {
        walk(&root, Path::new(folder), extension, &mut found)?;
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(root: &Path, folder: &Path, extension: &str, found: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        let path = folder.join(&name);
        if entry.file_type()?.is_dir() {
            if !hidden && name != "target" && name != "node_modules" {
                walk(root, &path, extension, found)?;
            }
        } else if path.extension().is_some_and(|is| is == extension) {
            let text = fs::read_to_string(root.join(&path))?;
            let path = path.to_string_lossy().replace('\\', "/");
            found.push(File { path, text });
        }
    }
    Ok(())
}
