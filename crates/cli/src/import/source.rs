//! The input of an import: entities with their lines, a window at a time, starting where an earlier run
//! stopped.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use lazuli_client::Dynamic;
use serde_json::Value as Json;

use crate::csv;
use crate::edm;
use crate::export::FileFormat;
use crate::fault::Fault;
use crate::state::number;

/// Maximum number of entities in a window.
const WINDOW_ENTITIES_MAX: usize = 2000;
/// Maximum bytes of the file in a window.
const WINDOW_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Larger than any entity as JSON.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A file being read.
pub struct ImportSource {
    path: PathBuf,
    /// Its length in bytes.
    pub length: u64,
    reader: SourceReader,
}

enum SourceReader {
    Lines(Lines),
    Csv(csv::CsvReader<BufReader<File>>),
}

struct Lines {
    input: BufReader<File>,
    offset: u64,
    line: u64,
    /// The line of the last entity.
    entity_line: u64,
    needs_timestamps: bool,
}

impl ImportSource {
    /// Opens a file. If `needs_timestamps` is set, a Timestamp that cannot be parsed is an error.
    pub fn open(path: &Path, format: FileFormat, needs_timestamps: bool) -> Result<Self, Fault> {
        let said = |error: std::io::Error| Fault::Message(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(said)?;
        let length = file.metadata().map_err(said)?.len();
        let input = BufReader::new(file);
        let reader = match format {
            FileFormat::Jsonl => {
                SourceReader::Lines(Lines { input, offset: 0, line: 1, entity_line: 1, needs_timestamps })
            }
            FileFormat::Csv => SourceReader::Csv(
                csv::CsvReader::new(input).map_err(|why| format!("{}: {why}", path.display()))?,
            ),
        };
        Ok(Self { path: path.to_owned(), length, reader })
    }

    /// Skips the part that is done.
    pub fn resume(&mut self, content: &Json) -> Result<(), Fault> {
        let (bytes, line) = (number(content, "bytes"), number(content, "line"));
        if bytes == 0 {
            return Ok(());
        }
        match &mut self.reader {
            SourceReader::Lines(lines) => {
                lines.input.seek(SeekFrom::Start(bytes))?;
                (lines.offset, lines.line) = (bytes, line);
            }
            SourceReader::Csv(reader) => {
                reader.input_mut().seek(SeekFrom::Start(bytes))?;
                reader.resume(bytes, line);
            }
        }
        Ok(())
    }

    /// The position: bytes read, and the number of the next line.
    pub fn place(&self) -> (u64, u64) {
        match &self.reader {
            SourceReader::Lines(lines) => (lines.offset, lines.line),
            SourceReader::Csv(reader) => (reader.offset, reader.line),
        }
    }

    /// The next entities, each with its line; empty at the end.
    pub fn window(&mut self) -> Result<Vec<(Dynamic, u64)>, Fault> {
        let mut window = Vec::new();
        let start = self.place().0;
        while window.len() < WINDOW_ENTITIES_MAX && self.place().0 - start < WINDOW_BYTES_MAX {
            let (next, line) = match &mut self.reader {
                SourceReader::Lines(lines) => (lines.next_entity(), lines.entity_line),
                SourceReader::Csv(reader) => (reader.next_entity(), reader.record_line),
            };
            let Some(entity) = next.map_err(|why| self.at(line, &why))? else { break };
            window.push((entity, line));
        }
        Ok(window)
    }

    /// An error in a line.
    pub fn at(&self, line: u64, why: &str) -> Fault {
        Fault::Message(format!("{}:{line}: {why}", self.path.display()))
    }
}

impl Lines {
    fn next_entity(&mut self) -> Result<Option<Dynamic>, String> {
        loop {
            let mut line = Vec::new();
            let read = self.input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
            let read = read.map_err(|error| error.to_string())? as u64;
            if read == 0 {
                return Ok(None);
            }
            if read > LINE_BYTES_MAX {
                return Err("the line is too long to be an entity".into());
            }
            if line.trim_ascii().is_empty() {
                (self.offset, self.line) = (self.offset + read, self.line + 1);
                continue;
            }
            self.entity_line = self.line;
            let entity = edm::from_line(&line)?;
            if self.needs_timestamps && entity.timestamp.is_none() {
                edm::check_timestamp(&line)?;
            }
            (self.offset, self.line) = (self.offset + read, self.line + 1);
            return Ok(Some(entity));
        }
    }
}
