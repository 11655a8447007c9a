//! Loads the blobs that the workloads read.

use lazuli_model::Service;
use lazuli_protocol::http::percent;

use super::job::{CONTAINER, Job, LARGE_BLOBS, RANGE_BLOB, block_id, name, tag};
use super::{BLOCK_BYTES, LARGE_BYTES, PREFIXES, SMALL_BYTES, Work, request};
use crate::load::in_parallel;
use crate::process::Process;
use crate::session::Session;

/// Size of blobs that are only listed.
const TINY_BYTES: usize = 16;

/// Creates the container and its blobs.
pub async fn prepare(job: &Job, process: &Process) -> Result<(), String> {
    let mut session = process.session(Service::Blob, 0).await?;
    session.send(request::create(&session.account, CONTAINER), &[201]).await?;
    match job.work {
        Work::GetSmall => put_all(process, job.blobs, SMALL_BYTES, name).await,
        Work::GetLarge => put_all(process, LARGE_BLOBS, LARGE_BYTES, name).await,
        Work::Range => put_range_blob(session, job.range_blob_bytes).await,
        Work::List => {
            put_all(process, job.blobs, TINY_BYTES, name).await?;
            find_last_page(job, &mut session).await
        }
        Work::Delimiter => {
            let in_folder = |number: u64| format!("d{:06}/{}", number % PREFIXES, name(number));
            put_all(process, job.blobs, TINY_BYTES, in_folder).await
        }
        Work::Deep => put_all(process, job.blobs, SMALL_BYTES, name).await,
        Work::Append => {
            let request = request::create_append_blob(&session.account, CONTAINER, &name(0));
            session.send(request, &[201]).await.map(drop)
        }
        Work::Page => {
            let size = job.range_blob_bytes;
            let request = request::create_page_blob(&session.account, CONTAINER, RANGE_BLOB, size);
            session.send(request, &[201]).await.map(drop)
        }
        Work::Tags => put_tagged(process, job.blobs).await,
        Work::PutSmall | Work::PutLarge | Work::Blocks => Ok(()),
    }
}

async fn put_all(process: &Process, count: u64, bytes: usize, name: fn(u64) -> String) -> Result<(), String> {
    in_parallel(process, Service::Blob, count, move |mut session, number| async move {
        let content = vec![b'x'; bytes];
        let request = request::put(&session.account, CONTAINER, &name(number), content);
        session.send(request, &[201]).await?;
        Ok(session)
    })
    .await
}

async fn put_tagged(process: &Process, count: u64) -> Result<(), String> {
    in_parallel(process, Service::Blob, count, |mut session, number| async move {
        let content = vec![b'x'; TINY_BYTES];
        let request = request::put(&session.account, CONTAINER, &name(number), content);
        session.send(request.with("x-ms-tags", format!("group={}", tag(number))), &[201]).await?;
        Ok(session)
    })
    .await
}

async fn put_range_blob(mut session: Session, bytes: u64) -> Result<(), String> {
    let blocks = usize::try_from(bytes).map_err(|error| error.to_string())?.div_ceil(BLOCK_BYTES);
    let ids: Vec<String> = (0..blocks).map(block_id).collect();
    for id in &ids {
        let content = vec![b'x'; BLOCK_BYTES];
        let request = request::put_block(&session.account, CONTAINER, RANGE_BLOB, id, content);
        session.send(request, &[201]).await?;
    }
    let commit = request::put_block_list(&session.account, CONTAINER, RANGE_BLOB, &ids);
    session.send(commit, &[201]).await.map(drop)
}

/// Reads the listing up to the marker of its last page.
async fn find_last_page(job: &Job, session: &mut Session) -> Result<(), String> {
    let mut last = String::new();
    loop {
        let rest = if last.is_empty() { String::new() } else { format!("&marker={last}") };
        let response = session.send(request::list(&session.account, CONTAINER, &rest), &[200]).await?;
        let body = response.text();
        let marker = body.split_once("<NextMarker>").and_then(|(_, rest)| rest.split_once("</NextMarker>"));
        match marker {
            Some((marker, _)) if !marker.is_empty() => {
                let mut escaped = Vec::new();
                percent::encode_into(&mut escaped, marker);
                last = String::from_utf8_lossy(&escaped).into_owned();
            }
            _ => break,
        }
    }
    let _ = job.marker.set(last);
    Ok(())
}
