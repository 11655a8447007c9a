//! Block lists that are committed during uploads: a list takes the blocks of one moment, and later uploads stay.

use lazuli_engine::Page;
use lazuli_model::blob::operation::BlobAction;
use lazuli_service::access::Authorized;
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;

use crate::sweeps::world_with;
use crate::world::{Features, blob, block_id, body, bytes_of};

/// More bytes in rows than one read of uncommitted blocks took.
const BLOCKS: u64 = 700;
const BLOCK_BYTES: usize = 8000;

/// Many small blocks are read in several scans. A block that was uploaded again after the scan that had read it, but before a
/// block of a later scan, counted as committed: its old bytes were committed, and the new ones were dropped.
#[tokio::test]
async fn a_block_that_is_uploaded_again_while_a_list_is_committed_stays() {
    let (world, engine) = world_with(Features::default(), BLOCK_BYTES).await;
    let id = |n: u64| format!("{n:04}");
    for n in 0..BLOCKS {
        world.stage("b", &id(n), bytes_of(n, BLOCK_BYTES)).await.unwrap();
    }
    let ends = [0, BLOCKS - 1];
    let again = |n: u64| bytes_of(10_000 + n, BLOCK_BYTES);
    let (blobs, grant) = (world.blobs.clone(), world.grant.clone());
    let uploads = async move {
        for n in ends {
            let action = BlobAction::PutBlock(block_id(&id(n)), body(&again(n)));
            let put = Authorized::new(&grant, blob("b", action)).unwrap();
            let mut source = Whole::from(again(n));
            blobs.execute(put, Supply::Body(&mut source)).await.unwrap();
        }
    };
    let is_due = |_, page: &Page| page.rows_read > BLOCKS / 2;
    *engine.meanwhile.lock().unwrap() = Some((Box::new(is_due), Box::pin(uploads)));
    let ids: Vec<String> = (0..BLOCKS).map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    world.commit("b", &ids).await.unwrap();
    assert!(engine.meanwhile.lock().unwrap().is_none(), "they were uploaded");
    let read = world.read("b").await.unwrap();
    assert!(read[..BLOCK_BYTES] == bytes_of(0, BLOCK_BYTES));
    world.commit("b", &ends.map(|n| format!("+{}", id(n))).each_ref().map(String::as_str)).await.unwrap();
    assert!(world.read("b").await.unwrap() == ends.map(again).concat());
}
