//! Checks that the repository follows ARCHITECTURE.md: `cargo test -p lazuli-tidy`.
//!
//! The compiler cannot see these rules, because they are about folders, files and documents. Each rule is a function
//! from the files of the repository to a list of problems. A problem names the file and says where the code belongs.
//! The crate has no dependencies, so that the check takes only a second.

pub mod document;
pub mod files;
pub mod layers;
pub mod names;
pub mod services;
pub mod token;
pub mod tree;

/// A file that may break a rule, and why.
#[derive(Debug)]
pub struct Exception {
    /// The file or folder, from the root of the repository.
    pub path: &'static str,
    /// The reason why the rule does not apply to it.
    pub reason: &'static str,
}

impl Exception {
    /// Is the file, or a folder that contains it, one of the exceptions?
    pub fn covers(exceptions: &[Self], path: &str) -> bool {
        exceptions.iter().any(|exception| {
            path.strip_prefix(exception.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
