//! The limit of the disk: files written without a server.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use lazuli_digest::ChecksumFold;
use lazuli_model::blob::write::Digests;
use lazuli_server::clock::Stopwatch;

use crate::contestant::Step;
use crate::session::Session;

/// Bytes hashed and written at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// Appends to a file with a separate sync: the minimum for a durable write.
pub async fn append(session: &mut Session, bytes: usize) -> Result<Step, String> {
    let path = session.folder.join(format!("file-{}", session.number));
    run(session, 1, move || {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(&vec![b'x'; bytes])?;
        file.sync_data()
    })
    .await
}

/// Writes a file with one sync, and computes the MD5 of its bytes at the same time.
pub async fn write(session: &mut Session, bytes: usize, units: u64) -> Result<Step, String> {
    let path = session.folder.join(format!("file-{}", session.number));
    run(session, units, move || write_file(&path, bytes)).await
}

async fn run(
    session: &mut Session,
    units: u64,
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<Step, String> {
    let watch = Stopwatch::start();
    let written = tokio::task::spawn_blocking(work).await;
    written.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    session.record(watch);
    Ok(Step::Done(units))
}

fn write_file(path: &Path, bytes: usize) -> std::io::Result<()> {
    let piece = vec![b'x'; PIECE_BYTES.min(bytes)];
    let mut file = File::create(path)?;
    let mut md5 = ChecksumFold::new(Digests { md5: true, crc64: false });
    let mut left = bytes;
    while left > 0 {
        let piece = &piece[..left.min(piece.len())];
        md5.update(piece);
        file.write_all(piece)?;
        left -= piece.len();
    }
    std::hint::black_box(md5.finish());
    file.sync_data()
}
