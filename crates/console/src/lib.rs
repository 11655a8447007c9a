//! The web console: hand-written ES modules and CSS, embedded into the binary, and their response headers.
//!
//! This crate is plain data: it contains files, but knows nothing about sockets or accounts. `server/console`
//! serves it. Everything in `assets/` is in a folder named after a hash of all files, so that browsers may
//! cache it forever and a new version is never mixed with an old one; modules import each other by relative
//! names and need no build step.

mod files;
mod modules;
mod policy;

use std::fmt::Write as _;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

pub use policy::{API_POLICY, COMMON_HEADERS, PAGE_POLICY};

use files::FILES;

/// The folder of all files but the page itself.
const FOLDER: &str = "assets";
/// The module with which the page starts.
const START: &str = "app.js";
/// The placeholder for the folder in the page.
const FOLDER_MARK: &str = "{{folder}}";
/// Stands for the list of modules that the browser can fetch before it knows that it needs them.
const PRELOAD_MARK: &str = "{{preload}}";
/// Hexadecimal digits of the hash in the name of the folder.
const HASH_DIGITS: usize = 16;

/// Lets a browser cache a file whose name changes with its content.
pub const CACHE_FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Makes a browser ask again.
pub const CACHE_NEVER: &str = "no-cache";

/// A file of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The name below the folder, such as `lib/dom.js`.
    pub name: &'static str,
    /// The content.
    pub bytes: &'static [u8],
}

/// A file as it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// `Content-Type`.
    pub content_type: &'static str,
    /// `Cache-Control`.
    pub cache_control: &'static str,
    /// The content.
    pub bytes: &'static [u8],
}

/// The file at a path such as `/` or `/assets/0123456789abcdef/app.js`.
pub fn find(path: &str) -> Option<Served> {
    if path == "/" || path == "/index.html" {
        return Some(Served {
            content_type: "text/html; charset=utf-8",
            cache_control: CACHE_NEVER,
            bytes: page().as_bytes(),
        });
    }
    let name = path.strip_prefix('/')?.strip_prefix(folder())?.strip_prefix('/')?;
    let file = FILES.iter().find(|file| file.name == name)?;
    Some(Served { content_type: content_type(name), cache_control: CACHE_FOR_EVER, bytes: file.bytes })
}

/// The size of all files.
pub fn total_bytes() -> usize {
    files::PAGE.len() + FILES.iter().map(|file| file.bytes.len()).sum::<usize>()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// The folder of all files but the page: `assets/` and a hash of them.
fn folder() -> &'static str {
    static FOLDER_NAME: OnceLock<String> = OnceLock::new();
    FOLDER_NAME.get_or_init(|| {
        let mut hash = Sha256::new();
        for file in FILES {
            hash.update((file.name.len() as u64).to_le_bytes());
            hash.update(file.name);
            hash.update((file.bytes.len() as u64).to_le_bytes());
            hash.update(file.bytes);
        }
        let mut name = format!("{FOLDER}/");
        for byte in hash.finalize().iter().take(HASH_DIGITS / 2) {
            let _ = write!(name, "{byte:02x}");
        }
        name
    })
}

/// The page, with the names of this version's files. All URLs are relative: a proxy may serve it below any prefix.
fn page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| {
        let mut preload = String::new();
        for name in modules::imported_by(START, FILES) {
            let _ = writeln!(preload, "<link rel=\"modulepreload\" href=\"{}/{name}\">", folder());
        }
        files::PAGE.replace(PRELOAD_MARK, preload.trim_end()).replace(FOLDER_MARK, folder())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The console makes the binary less than 1 MB larger.
    const TOTAL_BYTES_MAX: usize = 900_000;

    #[test]
    fn the_page_names_only_files_that_are_served() {
        let page = std::str::from_utf8(find("/").unwrap().bytes).unwrap();
        assert!(!page.contains("{{"), "a mark is left in the page");
        let links = page.split("=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let named: Vec<&str> = links.filter(|link| link.starts_with(FOLDER)).collect();
        assert!(named.len() > 3, "{named:?}");
        for link in named {
            let served = find(&format!("/{link}")).unwrap_or_else(|| panic!("{link} is not served"));
            assert_eq!(served.cache_control, CACHE_FOR_EVER);
        }
    }

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        fn names(folder: &std::path::Path, prefix: &str, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
                if entry.path().is_dir() {
                    names(&entry.path(), &format!("{name}/"), found);
                } else {
                    found.push(name);
                }
            }
        }
        let mut found = Vec::new();
        names(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web"), "", &mut found);
        found.retain(|name| name != "index.html" && !name.ends_with(".d.ts"));
        found.sort();
        let mut embedded: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        embedded.sort_unstable();
        assert_eq!(embedded, found);
    }

    #[test]
    fn other_paths_have_no_file() {
        let old = format!("/{FOLDER}/0000000000000000/app.js");
        for path in ["", "/favicon.ico", "/assets/", "/../Cargo.toml", "/index.htm", old.as_str()] {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn the_binary_grows_by_less_than_a_megabyte() {
        assert!(total_bytes() < TOTAL_BYTES_MAX, "{} bytes", total_bytes());
    }

    #[test]
    fn the_page_has_neither_inline_scripts_nor_absolute_urls() {
        let page = std::str::from_utf8(find("/").unwrap().bytes).unwrap();
        for absent in ["<script>", "style=", "onclick", "src=\"/", "href=\"/", "http://", "https://"] {
            assert!(!page.contains(absent), "{absent}");
        }
    }
}
