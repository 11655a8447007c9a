//! Copies of a database that front ends use: nothing that they name is removed while they are made.

use std::time::Duration;

use lazuli_engine::content::conformance::{bytes_of, read_all, write_all};
use lazuli_engine::content::{Copied, Copy, Naming, PIECE_ENCODED_BYTES, Piece, See};
use lazuli_engine::{Change, Condition, Engine, Error, Result, RowView, TableId, Write};
use lazuli_postgres::Postgres;
use tokio::time::Instant;

use crate::content::{front_end, sweep, watch};
use crate::support::schema;

/// Rows whose values are encoded pieces, in one table.
struct Encoded;

impl Naming for Encoded {
    fn pieces(&mut self, table: TableId, row: RowView<'_>, see: &mut See<'_>) -> Result<()> {
        if table == TableId(7) {
            let (pieces, _) = row.value.as_chunks::<PIECE_ENCODED_BYTES>();
            pieces.iter().filter_map(Piece::decode).for_each(|piece| see(piece, true));
        }
        Ok(())
    }
}

async fn change(engine: &Postgres, change: Change) {
    let write = Write { row: "r".into(), condition: Condition::Any, change };
    engine.apply(TableId(7), "p", vec![write]).await.expect("the database responds");
}

/// A copy that took more than an hour failed, and lacked uncommitted blocks, since front ends remove replaced content.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn content_that_is_replaced_during_a_copy_by_another_process_is_copied() {
    let schema = schema().await;
    let (server, content) = front_end(&schema).await;
    let (copier, _) = front_end(&schema).await;
    let bytes = bytes_of(1, 300_000);
    let pieces = write_all(&*content, &bytes).await;
    change(&server, Change::Put(pieces.iter().flat_map(Piece::encode).collect::<Vec<u8>>().into())).await;
    let mut copy = Copy::begin(&copier, Box::new(Encoded)).await.unwrap();
    change(&server, Change::Delete).await;
    assert_eq!(content.release(pieces.clone()).await, Ok(pieces.clone()), "it is held");
    let mut copied = Vec::new();
    loop {
        match copy.next(1_000).await.unwrap() {
            Copied::Rows(_) => {}
            Copied::Content { bytes, .. } => copied.extend_from_slice(&bytes),
            Copied::End(_) => break,
        }
    }
    assert_eq!(copied, bytes);
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
