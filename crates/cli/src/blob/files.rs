//! Local files: their checksums, their types, and the paths that blob names may be mapped to.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use lazuli_digest::{ChecksumFold, md5_text};
use lazuli_model::blob::write::Digests;

/// Bytes read at a time for a checksum.
const READ_BYTES: usize = 256 * 1024;

/// Content types by the end of the file name.
const TYPES: [(&str, &str); 18] = [
    ("avif", "image/avif"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
];

/// The MD5 of bytes, in Base64.
pub fn md5(bytes: &[u8]) -> String {
    let mut fold = ChecksumFold::new(Digests { md5: true, crc64: false });
    fold.update(bytes);
    finish(fold)
}

/// The MD5 of a whole file, in Base64.
pub fn md5_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut fold = ChecksumFold::new(Digests { md5: true, crc64: false });
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(finish(fold)),
            read => fold.update(&buffer[..read]),
        }
    }
}

fn finish(fold: ChecksumFold) -> String {
    fold.finish().md5.map(|md5| md5_text(&md5)).unwrap_or_default()
}

/// The content type that the name of a file suggests.
pub fn content_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|text| text.to_str()).unwrap_or_default().to_ascii_lowercase();
    let known = TYPES.iter().find(|(end, _)| *end == extension);
    known.map_or("application/octet-stream", |(_, name)| name)
}

/// The file for a blob below a directory. Names that would lead out of the directory are an error, because the
/// server may be untrusted.
pub fn below(directory: &Path, name: &str) -> Result<PathBuf, String> {
    let is_plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
    if name.split('/').all(is_plain) {
        return Ok(directory.join(name));
    }
    Err(format!(
        "blob '{}' cannot be a file: its name has an empty segment, '.', '..' or NUL",
        name.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_directory() {
        assert_eq!(below(Path::new("out"), "a/b.txt").unwrap(), Path::new("out/a/b.txt"));
        for bad in ["", "/etc/passwd", "../a", "a/../../b", "a//b", "a/", "./a", "a\0b"] {
            assert!(below(Path::new("out"), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn checksums_and_types() {
        assert_eq!(md5(b"Hello World"), "sQqNsWTgdUEFt6mb5y4/5Q==");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x");
        std::fs::write(&file, b"Hello World").unwrap();
        assert_eq!(md5_of_file(&file).unwrap(), md5(b"Hello World"));
        assert_eq!(content_type(Path::new("a/INDEX.HTML")), "text/html");
        assert_eq!(content_type(Path::new("a/b")), "application/octet-stream");
    }
}
