//! Open files of packs of earlier processes: a bounded number of the most recently used ones.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::HANDLES_MAX;

/// The open files. A file that is in use stays open even after it is dropped from here.
#[derive(Debug, Default)]
pub struct Handles(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    files: HashMap<u64, (Arc<File>, u64)>,
    /// Counts uses.
    now: u64,
}

impl Handles {
    /// The file of the pack with this number, opened if necessary.
    pub fn open(&self, number: u64, path: &Path) -> io::Result<Arc<File>> {
        if let Some(file) = self.find(number) {
            return Ok(file);
        }
        // Not under the lock: opening can wait for the disk.
        let file = Arc::new(OpenOptions::new().read(true).write(true).open(path)?);
        self.lock().keep(number, &file);
        Ok(file)
    }

    /// The file of the pack with this number, if it is open.
    pub fn find(&self, number: u64) -> Option<Arc<File>> {
        self.lock().find(number)
    }

    /// Forgets a file.
    pub fn close(&self, number: u64) {
        self.lock().files.remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn find(&mut self, number: u64) -> Option<Arc<File>> {
        self.now += 1;
        let (file, used) = self.files.get_mut(&number)?;
        *used = self.now;
        Some(Arc::clone(file))
    }

    fn keep(&mut self, number: u64, file: &Arc<File>) {
        if self.files.len() >= HANDLES_MAX {
            let oldest = self.files.iter().min_by_key(|(_, (_, used))| *used).map(|(number, _)| *number);
            oldest.and_then(|number| self.files.remove(&number));
        }
        self.files.insert(number, (Arc::clone(file), self.now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_stay_open() {
        let dir = tempfile::tempdir().unwrap();
        let handles = Handles::default();
        let path = dir.path().join("pack");
        File::create(&path).unwrap();
        for number in 0..2 * HANDLES_MAX as u64 {
            handles.open(0, &path).unwrap();
            handles.open(number, &path).unwrap();
        }
        let open = handles.lock();
        assert_eq!(open.files.len(), HANDLES_MAX);
        assert!(open.files.contains_key(&0), "it was used all the time");
        drop(open);
        handles.close(0);
        assert!(!handles.lock().files.contains_key(&0));
    }
}
