//! The limit of the disk: files written without a server.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use lazuli_digest::ChecksumFold;
use lazuli_model::blob::write::Digests;
use lazuli_server::clock::Stopwatch;

use crate::contestant::Step;
use crate::session::Session;

/// Bytes hashed and written at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// Writes a file with one sync, and computes the MD5 of its bytes meanwhile.
pub async fn write(session: &mut Session, bytes: usize, units: u64) -> Result<Step, String> {
    let path = session.folder.join(format!("file-{}", session.number));
    let watch = Stopwatch::start();
    let written = tokio::task::spawn_blocking(move || write_file(&path, bytes)).await;
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
