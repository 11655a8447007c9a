//! `lazuli blob upload`: a file, a directory or standard input.
//!
//! A file that fits one block is one request. A larger one is staged in blocks, several at a time, and
//! committed at the end. The id of a block contains its position and its MD5, so an upload that is started
//! again finds the blocks that it has already staged. Memory is bounded by the number of connections times the
//! size of a block.

mod typed;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use lazuli_model::Service;
use lazuli_protocol::xml::write::{document, leaf, nest};

pub use typed::PIECE_BYTES;

use super::files::{content_type, md5, md5_of_file};
use super::parts::is_reserved;
use super::path::BlobPath;
use super::pool::{Tally, each};
use super::{WORKERS_MAX, report};
use crate::fault::{EXIT_CODES, Fault};
use crate::storage::{Session, Storage, StorageRequest, parse_pair};
use crate::target::Target;

/// Size of a block, unless the file would need more blocks than a blob can have.
const BLOCK_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum blocks of a blob.
const BLOCKS_MAX: u64 = 50_000;

/// Upload a file, a directory, or standard input
///
/// Directories are uploaded with everything below them; the names of the blobs are the paths of the files. Blobs that already have
/// the same content are skipped, and large files continue with the blocks that are missing, so an interrupted upload
/// can be started again. Every request and every blob carries an MD5, which the server verifies.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli blob upload report.pdf files                    the blob files/report.pdf
  lazuli blob upload report.pdf files/2026/january.pdf
  lazuli blob upload site site-content --overwrite       a directory
  lazuli blob upload - backups/copy.tar < data.tar       standard input
  lazuli blob upload disk.vhd files --type page          a page blob; zeros are not sent

{EXIT_CODES}"))]
pub struct Upload {
    /// File or directory, or - for standard input
    source: PathBuf,

    /// Container, and the name of the blob or a prefix for names
    #[arg(value_name = "CONTAINER[/NAME]", value_parser = BlobPath::parse)]
    destination: BlobPath,

    /// Type of the blobs
    #[arg(long = "type", value_enum, default_value_t = BlobType::Block)]
    kind: BlobType,

    /// Replace existing blobs whose content differs
    #[arg(long)]
    overwrite: bool,

    /// Content type [default: determined by the name of the file]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,

    /// Metadata; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, String)>,

    /// Id of the blob's lease
    #[arg(long, value_name = "GUID")]
    lease_id: Option<String>,

    /// Number of connections
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=WORKERS_MAX))]
    connections: u8,

    /// Print errors only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

/// Types of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BlobType {
    /// Written as a whole, or in blocks
    Block,
    /// Takes more content at its end: lazuli blob append
    Append,
    /// Takes writes of 512 bytes anywhere; for disks
    Page,
}

impl BlobType {
    /// The name in headers.
    fn name(self) -> &'static str {
        match self {
            BlobType::Block => "BlockBlob",
            BlobType::Append => "AppendBlob",
            BlobType::Page => "PageBlob",
        }
    }
}

/// A file to upload, as it was when the upload started.
struct Source<'a> {
    file: &'a Path,
    path: &'a BlobPath,
    length: u64,
    md5: String,
}

impl Upload {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let tally = Tally::new("upload", self.quiet);
            let done = self.transfer(storage, &tally);
            report("uploaded", tally.finish(), self.quiet);
            done.map(|()| ExitCode::SUCCESS)
        })
    }

    fn transfer(&self, storage: &Storage, tally: &Tally) -> Result<(), Fault> {
        if self.source.as_os_str() == "-" {
            return self.standard_input(&mut storage.session(), tally);
        }
        let metadata = std::fs::metadata(&self.source).map_err(|error| at(&self.source, &error))?;
        if metadata.is_dir() {
            return self.directory(storage, tally);
        }
        let mut path = self.destination.clone();
        if path.name.is_empty() || path.name.ends_with('/') {
            let name = self.source.file_name().and_then(|name| name.to_str());
            path.name.push_str(name.ok_or_else(|| not_utf8(&self.source))?);
        }
        self.large_or_small(storage, &self.source, &path, tally)
    }

    /// Directory by directory: the files that fit one block in parallel, the others one after the other with their blocks in
    /// parallel.
    fn directory(&self, storage: &Storage, tally: &Tally) -> Result<(), Fault> {
        let mut prefix = self.destination.name.clone();
        if !prefix.is_empty() && !prefix.ends_with('/') {
            prefix.push('/');
        }
        let mut open = vec![(self.source.clone(), prefix)];
        while let Some((directory, prefix)) = open.pop() {
            let (mut small, mut large) = (Vec::new(), Vec::new());
            for entry in std::fs::read_dir(&directory).map_err(|error| at(&directory, &error))? {
                let file = entry?.path();
                let name = file.file_name().and_then(|name| name.to_str()).ok_or_else(|| not_utf8(&file))?;
                if is_reserved(name) {
                    // Incomplete downloads.
                    continue;
                }
                let name = format!("{prefix}{name}");
                let link = std::fs::symlink_metadata(&file).map_err(|error| at(&file, &error))?;
                let metadata = std::fs::metadata(&file).map_err(|error| at(&file, &error))?;
                if metadata.is_dir() {
                    // A link to a directory could lead to a cycle.
                    if !link.is_symlink() {
                        open.push((file, format!("{name}/")));
                    }
                } else if metadata.is_file() {
                    let is_small = metadata.len() <= BLOCK_BYTES && self.kind == BlobType::Block;
                    let list = if is_small { &mut small } else { &mut large };
                    list.push((file, self.destination.sibling(name)));
                }
            }
            each(storage, self.connections.into(), small.iter(), |session, (file, path)| {
                self.small(session, file, path, tally)
            })?;
            for (file, path) in &large {
                self.large_or_small(storage, file, path, tally)?;
            }
        }
        Ok(())
    }

    fn large_or_small(
        &self,
        storage: &Storage,
        file: &Path,
        path: &BlobPath,
        tally: &Tally,
    ) -> Result<(), Fault> {
        if self.kind != BlobType::Block {
            return self.typed(storage, file, path, tally);
        }
        let length = std::fs::metadata(file).map_err(|error| at(file, &error))?.len();
        if length <= BLOCK_BYTES {
            self.small(&mut storage.session(), file, path, tally)
        } else {
            self.large(storage, file, path, tally)
        }
    }

    /// One request.
    fn small(
        &self,
        session: &mut Session<'_>,
        file: &Path,
        path: &BlobPath,
        tally: &Tally,
    ) -> Result<(), Fault> {
        let content = std::fs::read(file).map_err(|error| at(file, &error))?;
        let length = content.len() as u64;
        let source = Source { file, path, length, md5: md5(&content) };
        if is_same(session, &source)? {
            tally.add(0, 1, 0);
            return Ok(());
        }
        let call = StorageRequest::new("PUT", &path.names()).header("x-ms-blob-type", "BlockBlob");
        let call = self.described(call, file).header("Content-MD5", &source.md5).body(content).repeatable();
        self.finish(session, &call, &source, tally, length)
    }

    /// Blocks in parallel, then the list of blocks.
    fn large(&self, storage: &Storage, file: &Path, path: &BlobPath, tally: &Tally) -> Result<(), Fault> {
        let open = File::open(file).map_err(|error| at(file, &error))?;
        let before = open.metadata().map_err(|error| at(file, &error))?;
        let length = before.len();
        let source = Source { file, path, length, md5: md5_of_file(file).map_err(|error| at(file, &error))? };
        let mut session = storage.session();
        if is_same(&mut session, &source)? {
            tally.add(0, 1, 0);
            return Ok(());
        }
        let staged = staged_blocks(&mut session, path)?;
        let block_bytes = BLOCK_BYTES.max(length.div_ceil(BLOCKS_MAX));
        let count = length.div_ceil(block_bytes);
        let ids: Vec<std::sync::OnceLock<String>> = (0..count).map(|_| std::sync::OnceLock::new()).collect();
        each(storage, self.connections.into(), ids.iter().enumerate(), |session, (index, id)| {
            let start = index as u64 * block_bytes;
            let mut block = vec![0; usize::try_from(block_bytes.min(length - start)).unwrap_or_default()];
            open.read_exact_at(&mut block, start).map_err(|error| at(file, &error))?;
            let sent = self.stage(session, path, &staged, index as u64, block)?;
            id.get_or_init(|| sent.id);
            tally.add(0, 0, sent.bytes);
            Ok(())
        })?;
        unchanged(file, &before)?;
        let ids: Vec<&str> = ids.iter().filter_map(|id| id.get().map(String::as_str)).collect();
        let call = self.commit(path, &ids, file).header("x-ms-blob-content-md5", &source.md5);
        self.finish(&mut session, &call, &source, tally, 0)
    }

    /// Stages a block, unless it is already staged.
    fn stage(
        &self,
        session: &mut Session<'_>,
        path: &BlobPath,
        staged: &HashMap<String, u64>,
        index: u64,
        block: Vec<u8>,
    ) -> Result<Staged, Fault> {
        let sum = md5(&block);
        let id = STANDARD.encode(format!("{index:08}-{sum}"));
        let bytes = block.len() as u64;
        if staged.get(&id) == Some(&bytes) {
            return Ok(Staged { id, bytes: 0 });
        }
        let call = StorageRequest::new("PUT", &path.names()).with("comp", "block").with("blockid", &id);
        let call = call.maybe_header("x-ms-lease-id", self.lease_id.as_ref());
        session.send(&call.header("Content-MD5", sum).body(block).repeatable())?;
        Ok(Staged { id, bytes })
    }

    /// The request that creates a blob from blocks.
    fn commit(&self, path: &BlobPath, ids: &[&str], file: &Path) -> StorageRequest {
        let body =
            document(|out| nest(out, "BlockList", |out| ids.iter().for_each(|id| leaf(out, "Latest", id))));
        let call = StorageRequest::new("PUT", &path.names()).with("comp", "blocklist");
        self.described(call, file).body(body).repeatable()
    }

    /// Adds properties and conditions.
    fn described(&self, call: StorageRequest, file: &Path) -> StorageRequest {
        let call = call.header("x-ms-blob-content-type", self.type_of(file)).metadata(&self.metadata);
        let call = call.maybe_header("x-ms-lease-id", self.lease_id.as_ref());
        if self.overwrite { call } else { call.header("If-None-Match", "*") }
    }

    /// The content type of a blob.
    fn type_of<'a>(&'a self, file: &Path) -> &'a str {
        self.content_type.as_deref().unwrap_or_else(|| content_type(file))
    }

    /// Sends the request that creates the blob. If the blob exists, an earlier attempt may have succeeded, and
    /// its response was lost.
    fn finish(
        &self,
        session: &mut Session<'_>,
        call: &StorageRequest,
        source: &Source<'_>,
        tally: &Tally,
        bytes: u64,
    ) -> Result<(), Fault> {
        match session.send(call) {
            Ok(_) => {}
            Err(fault) if is_existing(&fault) && is_same(session, source)? => {}
            Err(fault) if is_existing(&fault) && !self.overwrite => {
                return Err(Fault::Rejected(exists(&fault, source)));
            }
            Err(fault) => return Err(fault),
        }
        tally.add(1, 0, bytes);
        Ok(())
    }

    /// Blocks of input of unknown length.
    fn standard_input(&self, session: &mut Session<'_>, tally: &Tally) -> Result<(), Fault> {
        let path = &self.destination;
        if path.name.is_empty() || path.name.ends_with('/') {
            return Err("standard input needs the name of a blob: CONTAINER/NAME".to_owned().into());
        }
        match self.kind {
            BlobType::Block => {}
            BlobType::Append => return self.append_input(session, path, tally),
            BlobType::Page => return Err("a page blob cannot be uploaded from standard input, since its size must be known; pass a file".to_owned().into()),
        }
        let mut input = std::io::stdin().lock();
        let mut ids = Vec::new();
        loop {
            let mut block = Vec::new();
            input.by_ref().take(BLOCK_BYTES).read_to_end(&mut block)?;
            if block.is_empty() {
                break;
            }
            let staged = self.stage(session, path, &HashMap::new(), ids.len() as u64, block)?;
            tally.add(0, 0, staged.bytes);
            ids.push(staged.id);
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        session.send(&self.commit(path, &ids, Path::new(path.file_name())))?;
        tally.add(1, 0, 0);
        Ok(())
    }
}

/// A block that is staged, and the bytes that were sent for it.
struct Staged {
    id: String,
    bytes: u64,
}

/// The blocks of earlier attempts, by id.
fn staged_blocks(session: &mut Session<'_>, path: &BlobPath) -> Result<HashMap<String, u64>, Fault> {
    let call = StorageRequest::new("GET", &path.names())
        .with("comp", "blocklist")
        .with("blocklisttype", "uncommitted");
    let list = match session.document(&call) {
        Ok(list) => list,
        Err(Fault::Rejected(error)) if error.status == 404 => return Ok(HashMap::new()),
        Err(fault) => return Err(fault),
    };
    let blocks = list.child("UncommittedBlocks").map(|blocks| blocks.children.as_slice()).unwrap_or_default();
    let block = |block: &crate::storage::xml::Element| {
        Some((block.text_of("Name").to_owned(), block.text_of("Size").parse().ok()?))
    };
    Ok(blocks.iter().filter_map(block).collect())
}

/// Does the blob already have this content?
fn is_same(session: &mut Session<'_>, source: &Source<'_>) -> Result<bool, Fault> {
    match session.send(&StorageRequest::new("HEAD", &source.path.names())) {
        Ok(found) => {
            let length = found.header("Content-Length").and_then(|text| text.parse::<u64>().ok());
            Ok(length == Some(source.length) && found.header("Content-MD5") == Some(source.md5.as_str()))
        }
        // A signature for writing does not necessarily allow reading; without it, everything is uploaded.
        Err(Fault::Rejected(error)) if matches!(error.status, 404 | 403) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// A file that changes during its upload would become a blob that mixes two versions of the file.
fn unchanged(file: &Path, before: &std::fs::Metadata) -> Result<(), Fault> {
    let after = std::fs::metadata(file).map_err(|error| at(file, &error))?;
    if after.len() == before.len() && after.modified().ok() == before.modified().ok() {
        return Ok(());
    }
    Err(format!("{}: the file was changed while it was uploaded", file.display()).into())
}

fn is_existing(fault: &Fault) -> bool {
    fault.rejected().is_some_and(|error| error.code == "BlobAlreadyExists" || error.status == 412)
}

fn exists(fault: &Fault, source: &Source<'_>) -> crate::fault::Rejected {
    let mut error = fault.rejected().cloned().unwrap_or(crate::fault::Rejected {
        status: 409,
        code: "BlobAlreadyExists".into(),
        message: String::new(),
        request_id: String::new(),
    });
    error.message = format!(
        "{} exists with different content than {}; pass --overwrite to replace it",
        source.path,
        source.file.display()
    );
    error
}

fn at(file: &Path, error: &std::io::Error) -> Fault {
    Fault::Message(format!("{}: {error}", file.display()))
}

fn not_utf8(file: &Path) -> Fault {
    Fault::Message(format!("{}: the name is not UTF-8, so it cannot be the name of a blob", file.display()))
}
