//! Reads the sorted store's log before the sorted store does, because the sorted store would truncate the log at the
//! first unreadable entry, and lose everything acknowledged after it.
//!
//! A log ends in one of three ways: with nothing (zeros: the file is allocated longer than needed), with a batch that a
//! crash left unfinished, or with damage. The bytes after the last complete batch distinguish the last two: see
//! [`tail`](mod@tail).
//!
//! The format, all numbers little-endian:
//!
//! | entry | bytes |
//! |---|---|
//! | start | 1, number of items (4), sequence number (8) |
//! | item | 2, kind (1), compression (1), keyspace (8), key length (2), value length (4), stored length (4), key, value |
//! | end | 3, XXH3 of all item entries (8), "FJL", 3 |

mod search;
mod tail;

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use crate::error::OpenError;
use crate::limits::REST_BYTES_MAX;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const MAGIC: [u8; 4] = *b"FJL\x03";
const ITEM_HEAD_BYTES: usize = 21;
const START_BYTES: usize = 13;
const END_BYTES: usize = 13;
const BUFFER_BYTES: usize = 64 * 1024;

/// The way in which a log file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing follows the last complete batch.
    Clean,
    /// The beginning of a batch follows: its writer was killed.
    Torn,
    /// A batch with holes follows, as a loss of power leaves it; damage can look like that too.
    Holed,
    /// A batch follows that was written completely and changed later.
    Altered,
    /// A complete batch follows something that is not a batch.
    Damaged,
}

/// The contents of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The end of the last complete batch.
    pub end: u64,
    /// The sequence number of the first and the last batch, if there is one. They increase in between.
    pub sequence: Option<(u64, u64)>,
    /// The rest of the file.
    pub tail: Tail,
}

/// Reads a log file to its end.
pub fn read(path: &Path) -> Result<Summary, OpenError> {
    let file = File::open(path).map_err(OpenError::io("open", path))?;
    let length = file.metadata().map_err(OpenError::io("read", path))?.len();
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let summary = read_batches(&mut reader, length).map_err(OpenError::io("read", path))?;
    if summary.tail == Tail::Damaged {
        return Ok(summary);
    }
    let rest = read_rest(&mut reader.into_inner(), summary.end, path)?;
    Ok(Summary { tail: tail(&rest, summary), ..summary })
}

/// Like [`read`], for a log that is in memory.
pub fn read_bytes(bytes: &[u8]) -> Summary {
    let summary = read_batches(&mut &bytes[..], bytes.len() as u64).expect("memory can be read");
    if summary.tail == Tail::Damaged {
        return summary;
    }
    let rest = &bytes[usize::try_from(summary.end).expect("it ends in memory")..];
    Summary { tail: tail(without_zeros(rest), summary), ..summary }
}

/// Reads the complete batches at the beginning of a log. A further batch with a number out of order is damage; anything
/// else after them is not classified yet.
fn read_batches(reader: &mut impl Read, length: u64) -> std::io::Result<Summary> {
    let mut summary = Summary { end: 0, sequence: None, tail: Tail::Clean };
    while let Some((number, size)) = read_batch(reader, length.saturating_sub(summary.end))? {
        let Some(sequence) = follow(summary.sequence, number) else {
            return Ok(Summary { tail: Tail::Damaged, ..summary });
        };
        summary.sequence = Some(sequence);
        summary.end += size;
    }
    Ok(summary)
}

/// The first and last number with `number` added; `None` if it does not follow. The checksum of a batch does
/// not cover its number, but a wrong number would change the order of writes.
fn follow(sequence: Option<(u64, u64)>, number: u64) -> Option<(u64, u64)> {
    match sequence {
        None => Some((number, number)),
        Some((first, last)) => is_near(Some(last), number).then_some((first, number)),
    }
}

/// Can a batch with this number follow the batch `last` of the same log? This rejects bytes that look like a batch by
/// chance, and numbers whose high bytes were damaged. The first batch of a log can have any number.
fn is_near(last: Option<u64>, number: u64) -> bool {
    last.is_none_or(|last| number > last && number - last < 1 << 24)
}

/// Determines what follows the last complete batch. There are no zeros at its end.
fn tail(rest: &[u8], summary: Summary) -> Tail {
    if rest.is_empty() {
        return Tail::Clean;
    }
    let last = summary.sequence.map(|(_, last)| last);
    if search::has_batch_behind(rest, last) { Tail::Damaged } else { tail::classify(summary.end, rest) }
}

/// The bytes of a log from `start` on, without the zeros at its end.
pub fn rest(path: &Path, start: u64) -> Result<Vec<u8>, OpenError> {
    let mut file = File::open(path).map_err(OpenError::io("open", path))?;
    read_rest(&mut file, start, path)
}

/// The bytes from `start` on, without zeros at the end: there may be a lot of them.
fn read_rest(file: &mut File, start: u64, path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut rest = vec![];
    let mut block = vec![0; BUFFER_BYTES];
    let mut offset = start;
    while let Some(next) = next_data(file, offset).map_err(OpenError::io("read", path))? {
        let read = file.seek(SeekFrom::Start(next)).and_then(|_| file.read(&mut block));
        let count = read.map_err(OpenError::io("read", path))?;
        if count == 0 {
            break;
        }
        if block[..count].iter().any(|&b| b != 0) {
            // A sparse file with a few bytes of data can have any length: holes take no space on disk, but they
            // would in memory.
            let before = usize::try_from(next - start).ok().filter(|&bytes| bytes <= REST_BYTES_MAX);
            let Some(before) = before else {
                let path = path.display();
                return Err(OpenError::Corrupt(format!("{path}: the data at byte {start} is too long")));
            };
            rest.resize(before, 0);
            rest.extend_from_slice(&block[..count]);
        }
        offset = next + count as u64;
    }
    rest.truncate(without_zeros(&rest).len());
    Ok(rest)
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

/// Where the file has bytes, at `offset` or after; there are only zeros in between.
#[cfg(target_os = "linux")]
fn next_data(file: &File, offset: u64) -> std::io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(next) => Ok(Some(next)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        // Not every file system supports this; the whole file can still be read.
        Err(_) => Ok(Some(offset)),
    }
}

#[cfg(not(target_os = "linux"))]
fn next_data(_: &File, offset: u64) -> std::io::Result<Option<u64>> {
    Ok(Some(offset))
}

/// Reads one batch of at most `rest` bytes: its number and size, or `None` if it is incomplete.
fn read_batch(reader: &mut impl Read, rest: u64) -> std::io::Result<Option<(u64, u64)>> {
    let mut start = [0; START_BYTES];
    if !fill(reader, &mut start)? || start[0] != START {
        return Ok(None);
    }
    let items = u32::from_le_bytes([start[1], start[2], start[3], start[4]]);
    let number = u64::from_le_bytes([
        start[5], start[6], start[7], start[8], start[9], start[10], start[11], start[12],
    ]);
    let mut size = (START_BYTES + END_BYTES) as u64;
    let mut hash = Xxh3::new();
    let mut piece = vec![];
    for _ in 0..items {
        let mut head = [0; ITEM_HEAD_BYTES];
        if !fill(reader, &mut head)? || head[0] != ITEM {
            return Ok(None);
        }
        let key = u64::from(u16::from_le_bytes([head[11], head[12]]));
        let value = u64::from(u32::from_le_bytes([head[17], head[18], head[19], head[20]]));
        size += head.len() as u64 + key + value;
        if size > rest {
            return Ok(None);
        }
        hash.update(&head);
        // Read piece by piece, so that a damaged length does not cause a huge allocation.
        let mut left = key + value;
        while left > 0 {
            piece.resize(usize::try_from(left).map_or(BUFFER_BYTES, |left| left.min(BUFFER_BYTES)), 0);
            if !fill(reader, &mut piece)? {
                return Ok(None);
            }
            hash.update(&piece);
            left -= piece.len() as u64;
        }
    }
    let mut end = [0; END_BYTES];
    let is_whole = fill(reader, &mut end)?
        && end[0] == END
        && end[1..9] == hash.digest().to_le_bytes()
        && end[9..] == MAGIC;
    Ok(is_whole.then_some((number, size)))
}

/// Fills the buffer; `false` if the reader ends earlier.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests;
