//! Copies of a database that front ends use: nothing that they name is removed while they are made.

use std::time::Duration;

use lazuli_engine::content::conformance::{bytes_of, read_all, write_all};
use lazuli_engine::content::{Copied, Copy, Naming, PIECE_ENCODED_BYTES, Piece, See};
use lazuli_engine::{Change, Condition, Engine, Error, Result, RowView, TableId, Write};
use lazuli_postgres::Postgres;
use tokio::time::Instant;

use crate::content::{front_end, sweep, watch};
use crate::support::{client, schema, server as database};

/// Rows whose values are encoded pieces, in one table. The flag: they must be stored.
struct Encoded(bool);

impl Naming for Encoded {
    fn pieces(&mut self, table: TableId, row: RowView<'_>, see: &mut See<'_>) -> Result<()> {
        if table == TableId(7) {
            let (pieces, _) = row.value.as_chunks::<PIECE_ENCODED_BYTES>();
            pieces.iter().filter_map(Piece::decode).for_each(|piece| see(piece, self.0));
        }
        Ok(())
    }
}

async fn change(engine: &Postgres, change: Change) {
    let write = Write { row: "r".into(), condition: Condition::Any, change };
    engine.apply(TableId(7), "p", vec![write]).await.expect("the database responds");
}

async fn name(engine: &Postgres, pieces: &[Piece]) {
    change(engine, Change::Put(pieces.iter().flat_map(Piece::encode).collect::<Vec<u8>>().into())).await;
}

/// The content that a copy still returns.
async fn rest(copy: &mut Copy) -> Result<Vec<u8>> {
    let mut copied = Vec::new();
    loop {
        match copy.next(1_000).await? {
            Copied::Rows(_) => {}
            Copied::Content { bytes, .. } => copied.extend_from_slice(&bytes),
            Copied::End(_) => return Ok(copied),
        }
    }
}

/// A copy that took more than an hour failed, and lacked uncommitted blocks, since front ends remove replaced content.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn content_that_is_replaced_during_a_copy_by_another_process_is_copied() {
    let schema = schema().await;
    let (server, content) = front_end(&schema).await;
    let (copier, _) = front_end(&schema).await;
    let bytes = bytes_of(1, 300_000);
    let pieces = write_all(&*content, &bytes).await;
    name(&server, &pieces).await;
    let mut copy = Copy::begin(&copier, Box::new(Encoded(true))).await.unwrap();
    change(&server, Change::Delete).await;
    assert_eq!(content.release(pieces.clone()).await, Ok(pieces.clone()), "it is held");
    assert_eq!(rest(&mut copy).await, Ok(bytes.to_vec()));
    drop(copy);
    copier.close().await.unwrap();
    assert_eq!(content.release(pieces.clone()).await, Ok(vec![]));
    assert!(matches!(read_all(&*content, &pieces).await, Err(Error::Corrupt(_))));
}

/// A hold lasts as long as its process renews it, whatever the time. One that is dropped ends with the next renewal.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hold_lasts_as_long_as_it_is_renewed() {
    let schema = schema().await;
    let (server, content) = front_end(&schema).await;
    let (copier, theirs) = front_end(&schema).await;
    let pieces = write_all(&*content, &bytes_of(1, 300_000)).await;
    let hold = theirs.hold_all().await.unwrap();
    let start = Instant::now();
    for minute in 0..30 {
        server.renew(start + Duration::from_secs(60) * minute).await.unwrap();
        if minute % 5 == 0 {
            copier.renew(Instant::now()).await.unwrap();
        }
    }
    assert_eq!(content.release(pieces.clone()).await, Ok(pieces.clone()));
    assert_eq!(hold.check().await, Ok(()));
    drop(hold);
    copier.renew(Instant::now()).await.unwrap();
    assert_eq!(content.release(pieces).await, Ok(vec![]));
}

/// The hold of a process that was killed ends after ten minutes; one that was only suspended learns that its copy failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hold_that_is_not_renewed_ends() {
    let schema = schema().await;
    let (server, content) = front_end(&schema).await;
    let (killed, theirs) = front_end(&schema).await;
    let (_suspended, other) = front_end(&schema).await;
    let pieces = write_all(&*content, &bytes_of(1, 300_000)).await;
    drop((theirs.hold_all().await.unwrap(), theirs, killed));
    let hold = other.hold_all().await.unwrap();
    assert_eq!(content.release(pieces.clone()).await, Ok(pieces.clone()));
    watch(&server).await;
    assert!(matches!(hold.check().await, Err(Error::Unavailable(_))));
    assert_eq!(content.release(pieces).await, Ok(vec![]));
    assert_eq!(sweep(&*content, &[]).await, 0);
}

/// A copy that was suspended for so long reported the content that was removed meanwhile as damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_copy_whose_hold_has_ended_asks_to_be_repeated() {
    let schema = schema().await;
    let (server, content) = front_end(&schema).await;
    let (suspended, _) = front_end(&schema).await;
    let pieces = write_all(&*content, &bytes_of(1, 300_000)).await;
    name(&server, &pieces).await;
    let mut copy = Copy::begin(&suspended, Box::new(Encoded(true))).await.unwrap();
    change(&server, Change::Delete).await;
    watch(&server).await;
    assert_eq!(content.release(pieces).await, Ok(vec![]));
    let failed = rest(&mut copy).await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
}

/// Uncommitted blocks that a front end began to remove right before the copy began were removed while they were read, and the copy
/// failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn content_whose_removal_began_before_the_copy_is_copied_completely_or_not_at_all() {
    let schema = schema().await;
    let (server, content) = front_end(&schema).await;
    let (copier, _) = front_end(&schema).await;
    let bytes = bytes_of(1, 8_000_000);
    let pieces = write_all(&*content, &bytes).await;
    name(&server, &pieces).await;
    let remove = format!("DELETE FROM {schema}.lazuli_chunk");
    let mut copy = Copy::begin(&copier, Box::new(Encoded(false))).await.unwrap();
    assert!(matches!(copy.next(1_000).await, Ok(Copied::Rows(_))));
    let Ok(Copied::Content { bytes: first, .. }) = copy.next(1_000).await else { panic!("no content") };
    client(&database()).await.batch_execute(&remove).await.unwrap();
    let others = rest(&mut copy).await.unwrap();
    let whole = pieces[0].length as usize;
    assert_eq!([first.to_vec(), others].concat(), bytes[..whole], "one piece was being read");
    let mut copy = Copy::begin(&copier, Box::new(Encoded(false))).await.unwrap();
    assert_eq!(rest(&mut copy).await, Ok(vec![]));
}
