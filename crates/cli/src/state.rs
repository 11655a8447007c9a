//! The progress of a long transfer, in a small file next to its data. It is replaced atomically: the new
//! content is written to `NAME.partial` first. The next run overwrites a `.partial` file that a killed run
//! left.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::fault::Fault;

/// The version of the format.
const VERSION: u64 = 1;

/// The file.
pub struct StateFile {
    path: PathBuf,
    purpose: Json,
    content: Json,
    is_resumed: bool,
}

impl StateFile {
    /// Opens the state of a transfer with this purpose. State with another purpose is an error, unless `forget`
    /// is set.
    pub fn open(path: PathBuf, purpose: Json, forget: bool) -> Result<Self, Fault> {
        let stored = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Json>(&bytes).ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", path.display()).into()),
        };
        let (content, is_resumed) = match stored {
            Some(stored) if forget || number(&stored, "version") != VERSION => (Json::Null, false),
            Some(stored) if stored.get("purpose") == Some(&purpose) => {
                (stored.get("content").cloned().unwrap_or_default(), true)
            }
            Some(_) => return Err(other_work(&path)),
            None => (Json::Null, false),
        };
        Ok(Self { path, purpose, content, is_resumed })
    }

    /// Drops the saved state.
    pub fn forget(&mut self) {
        self.content = Json::Null;
        self.is_resumed = false;
    }

    /// Did an earlier run save state?
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The last saved state; null if there is none.
    pub fn content(&self) -> &Json {
        &self.content
    }

    /// Saves the state.
    pub fn save(&mut self, content: Json) -> Result<(), Fault> {
        let failed = |error: std::io::Error| Fault::Message(format!("{}: {error}", self.path.display()));
        let whole = json!({ "version": VERSION, "purpose": self.purpose, "content": content });
        let partial = self.partial();
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(whole.to_string().as_bytes())?;
            file.sync_data()?;
            std::fs::rename(&partial, &self.path)
        });
        if let Err(error) = written {
            // If this fails as well, the next run overwrites the file.
            let _ = std::fs::remove_file(&partial);
            return Err(failed(error));
        }
        self.content = content;
        Ok(())
    }

    fn partial(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".partial");
        path.into()
    }

    /// Deletes the file: the transfer is complete.
    pub fn remove(self) -> Result<(), Fault> {
        // A run that was killed while it saved leaves this file.
        let _ = std::fs::remove_file(self.partial());
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn other_work(path: &Path) -> Fault {
    Fault::Message(format!(
        "{} belongs to another transfer that was interrupted; finish that one, or start again with --overwrite",
        path.display()
    ))
}

/// A number in an object; 0 if there is none.
pub fn number(object: &Json, name: &str) -> u64 {
    object.get(name).and_then(Json::as_u64).unwrap_or_default()
}

/// A string in an array.
pub fn text(array: &Json, at: usize) -> Option<&str> {
    array.get(at).and_then(Json::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_resumes_if_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let open = |purpose: &str, forget| StateFile::open(path.clone(), json!(purpose), forget);
        let mut first = open("a", false).ok().unwrap();
        assert!(!first.is_resumed() && first.content().is_null());
        assert!(first.save(json!({ "rows": 3 })).is_ok());
        let again = open("a", false).ok().unwrap();
        assert_eq!((again.is_resumed(), number(again.content(), "rows")), (true, 3));
        assert!(open("b", false).is_err());
        let anew = open("b", true).ok().unwrap();
        assert!(!anew.is_resumed() && anew.content().is_null());
        assert!(again.remove().is_ok());
        assert!(!open("a", false).ok().unwrap().is_resumed());
        std::fs::write(&path, "{broken").unwrap();
        assert!(!open("a", false).ok().unwrap().is_resumed());
    }
}
