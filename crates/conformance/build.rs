//! Lists `transcripts/` and generates the table that embeds every file in the library.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=transcripts");
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("transcripts");
    let mut names = Vec::new();
    collect(&root, &root, &mut names)?;
    names.sort();
    let mut code = String::from("&[\n");
    for name in &names {
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/transcripts/{name}.http\")");
        writeln!(code, "    (\"{name}\", include_str!({path})),").map_err(io::Error::other)?;
    }
    code.push_str("]\n");
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("transcripts.rs"), code)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

/// The names of all `.http` files below a folder, relative to the root, with `/` between folders.
fn collect(root: &Path, folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, names)?;
        } else if path.extension().is_some_and(|extension| extension == "http") {
            let relative = path.strip_prefix(root).map_err(io::Error::other)?.with_extension("");
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            names.push(parts.join("/"));
        }
    }
    Ok(())
}
