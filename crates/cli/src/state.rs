//! How far a long transfer has come, in a small file beside its data: written whole or not at all. While it is written it has
//! `.partial` behind its name; what a kill leaves of that, the next run writes over.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::target::Fault;

/// The form of the file.
const VERSION: u64 = 1;

/// The file.
pub struct StateFile {
    path: PathBuf,
    purpose: Json,
    content: Json,
    is_resumed: bool,
}

impl StateFile {
    /// Opens the state of work for this purpose. One of another purpose is an error, unless it may be forgotten.
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

    /// Begins anew, whatever was saved.
    pub fn forget(&mut self) {
        self.content = Json::Null;
        self.is_resumed = false;
    }

    /// Did earlier work get so far?
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// What was saved last; null if nothing was.
    pub fn content(&self) -> &Json {
        &self.content
    }

    /// Saves how far the work has come.
    pub fn save(&mut self, content: Json) -> Result<(), Fault> {
        let said = |error: std::io::Error| Fault::Said(format!("{}: {error}", self.path.display()));
        let whole = json!({ "version": VERSION, "purpose": self.purpose, "content": content });
        let partial = self.partial();
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(whole.to_string().as_bytes())?;
            file.sync_data()?;
            std::fs::rename(&partial, &self.path)
        });
        if let Err(error) = written {
            // What is left of it, the next run writes over.
            let _ = std::fs::remove_file(&partial);
            return Err(said(error));
        }
        self.content = content;
        Ok(())
    }

    fn partial(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".partial");
        path.into()
    }

    /// The work is done.
    pub fn remove(self) -> Result<(), Fault> {
        // Of a run that was killed while it saved.
        let _ = std::fs::remove_file(self.partial());
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn other_work(path: &Path) -> Fault {
    Fault::Said(format!(
        "{} is of other work that was interrupted: finish that, or start anew with --overwrite",
        path.display()
    ))
}

/// A number in an object; 0 if there is none.
pub fn number(object: &Json, name: &str) -> u64 {
    object.get(name).and_then(Json::as_u64).unwrap_or_default()
}

/// A text in an array.
pub fn text(array: &Json, at: usize) -> Option<&str> {
    array.get(at).and_then(Json::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_if_it_is_the_same() {
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
