//! All operating system calls for pack files: the interface where tests inject disk failures.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::space::Space;

/// Maximum buffers per system call.
const BUFFERS_MAX: usize = 1024;

/// The operations of a disk. Production uses [`RealDisk`].
pub trait Disk: Send + Sync {
    /// Creates a file that must not exist, accessible only to its owner.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
    }

    /// Writes all buffers, one after the other, from `offset` on.
    fn write(&self, file: &File, buffers: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        write_all(file, buffers, offset)
    }

    /// Makes the writes to a file durable.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Makes the entries of a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    /// Frees a range of a file, which then reads as zeros. [`ErrorKind::Unsupported`] if the file system cannot.
    fn punch(&self, file: &File, offset: u64, bytes: u64) -> io::Result<()> {
        punch(file, offset, bytes)
    }

    /// The space on the disk of a directory.
    fn space(&self, dir: &Path) -> Space {
        Space::of(dir)
    }

    /// Removes a file; a missing file is not an error.
    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// The disk of this machine.
pub struct RealDisk;

impl Disk for RealDisk {}

#[cfg(target_os = "linux")]
fn write_some(file: &File, buffers: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    let count = buffers.len().min(BUFFERS_MAX);
    Ok(rustix::io::pwritev(file, &buffers[..count], offset)?)
}

#[cfg(not(target_os = "linux"))]
fn write_some(file: &File, buffers: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt as _;
    buffers.iter().find(|buffer| !buffer.is_empty()).map_or(Ok(0), |buffer| file.write_at(buffer, offset))
}

fn write_all(file: &File, mut buffers: &mut [IoSlice<'_>], mut offset: u64) -> io::Result<()> {
    // Leading empty buffers would look like a disk that accepts nothing.
    IoSlice::advance_slices(&mut buffers, 0);
    while !buffers.is_empty() {
        match write_some(file, buffers, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                offset += count as u64;
                IoSlice::advance_slices(&mut buffers, count);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn punch(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, offset, bytes)) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Err(ErrorKind::Unsupported.into()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn punch(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Reads `bytes` from `offset` on; fewer where the file ends.
pub fn read(file: &File, bytes: usize, offset: u64) -> io::Result<Vec<u8>> {
    let mut buffer = Vec::with_capacity(bytes);
    while buffer.len() < bytes {
        let at = offset + buffer.len() as u64;
        let rest = bytes - buffer.len();
        match read_some(file, &mut buffer, rest, at) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    // The allocator may have provided more, and the system may have filled it.
    buffer.truncate(bytes);
    Ok(buffer)
}

#[cfg(target_os = "linux")]
fn read_some(file: &File, buffer: &mut Vec<u8>, _: usize, offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), offset)?)
}

#[cfg(not(target_os = "linux"))]
fn read_some(file: &File, buffer: &mut Vec<u8>, rest: usize, offset: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt as _;
    let start = buffer.len();
    buffer.resize(start + rest, 0);
    let read = file.read_at(&mut buffer[start..], offset);
    buffer.truncate(start + read.as_ref().map_or(0, |count| *count));
    read
}

/// Reads as [`read`] does, but only from the page cache: `None` if it would have to wait for the disk.
#[cfg(target_os = "linux")]
pub fn read_cached(file: &File, bytes: usize, offset: u64) -> Option<Vec<u8>> {
    use rustix::io::ReadWriteFlags;
    let mut buffer = vec![0; bytes];
    let buffers = &mut [io::IoSliceMut::new(&mut buffer)];
    let count = rustix::io::preadv2(file, buffers, offset, ReadWriteFlags::NOWAIT).ok()?;
    (count == bytes).then_some(buffer)
}

/// Other systems cannot tell.
#[cfg(not(target_os = "linux"))]
pub fn read_cached(_: &File, _: usize, _: u64) -> Option<Vec<u8>> {
    None
}

/// The first range with data from `from` on, limited by `end`. If the system does not report holes, everything
/// is data.
#[cfg(target_os = "linux")]
pub fn next_data(file: &File, from: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::SeekFrom;
    use rustix::io::Errno;
    if from >= end {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((from, end))),
        Err(e) => return Err(e.into()),
    };
    let stop = rustix::fs::seek(file, SeekFrom::Hole(start))?.min(end);
    Ok((start < end).then_some((start, stop)))
}

/// The first range with data from `from` on, limited by `end`. If the system does not report holes, everything
/// is data.
#[cfg(not(target_os = "linux"))]
pub fn next_data(_: &File, from: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
    Ok((from < end).then_some((from, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_written_and_holes_are_found() {
        let file = tempfile::tempfile().unwrap();
        let parts: Vec<Vec<u8>> = (0..3000_u32).map(|n| vec![n as u8; (n % 7) as usize]).collect();
        let mut buffers: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        RealDisk.write(&file, &mut buffers, 4096).unwrap();
        let expected = parts.concat();
        assert_eq!(read(&file, expected.len(), 4096).unwrap(), expected);
        assert_eq!(read(&file, expected.len() + 10, 4096).unwrap(), expected, "the file ends");
        let (start, end) = next_data(&file, 0, 1 << 20).unwrap().unwrap();
        assert!(start <= 4096 && end >= 4096 + expected.len() as u64);
        assert_eq!(next_data(&file, 1 << 20, 1 << 21).unwrap(), None);
        RealDisk.write(&file, &mut [IoSlice::new(b""), IoSlice::new(b"")], 0).unwrap();
    }

    #[test]
    fn cached_reads_are_whole_or_none() {
        let file = tempfile::tempfile().unwrap();
        RealDisk.write(&file, &mut [IoSlice::new(&[7; 10_000])], 0).unwrap();
        assert!(read_cached(&file, 10_000, 0).is_none_or(|bytes| bytes == [7; 10_000]));
        assert_eq!(read_cached(&file, 10_001, 0), None);
    }

    #[test]
    fn removing_a_missing_file_is_not_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        RealDisk.create(&path).unwrap();
        assert!(RealDisk.create(&path).is_err(), "it exists");
        RealDisk.remove(&path).unwrap();
        RealDisk.remove(&path).unwrap();
    }
}
