//! Content as rows of chunks: the suite that every content store runs, and what several front ends share.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lazuli_engine::conformance::upsert;
use lazuli_engine::content::conformance::{ContentFactory, Home, bytes_of, read_all, settled, write_all};
use lazuli_engine::content::{Content, ContentWriter, Piece};
use lazuli_engine::{Clock, Engine, Error, TableId, content_conformance_tests};
use lazuli_postgres::Postgres;
use tokio::time::Instant;

use crate::support::{client, open, schema, server, url_of};

/// Front ends on one schema, one after the other.
struct SchemaHome {
    schema: String,
    engine: Option<Arc<dyn Engine>>,
}

impl Home for SchemaHome {
    async fn open(&mut self) -> Arc<dyn Content> {
        if let Some(engine) = self.engine.take() {
            engine.close().await.expect("the engine closes");
        }
        let engine = open(url_of(&server(), &self.schema), Clock::system()).await;
        let content = engine.content().expect("it has content");
        self.engine = Some(engine);
        content
    }
}

struct Database;

impl ContentFactory for Database {
    type Home = SchemaHome;

    async fn home(&self) -> SchemaHome {
        SchemaHome { schema: schema().await, engine: None }
    }
}

content_conformance_tests!(Database);

/// Two front ends: each reads the other's content, names never collide, and a sweep of one leaves the other's uploads
/// alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn front_ends_share_content() {
    let schema = schema().await;
    let first = open(url_of(&server(), &schema), Clock::system()).await;
    let second = open(url_of(&server(), &schema), Clock::system()).await;
    let (one, two) = (first.content().unwrap(), second.content().unwrap());
    let bytes = bytes_of(1, 700_000);
    let (mine, yours) = (write_all(&*one, &bytes).await[0], write_all(&*two, &bytes).await[0]);
    assert_ne!(mine.stream, yours.stream);
    assert_eq!(read_all(&*one, &[yours]).await.as_ref(), Ok(&bytes));
    assert_eq!(read_all(&*two, &[mine]).await.as_ref(), Ok(&bytes));
    for content in [&one, &two] {
        assert!(content.sweep().await.unwrap().finish().await.unwrap().is_complete);
    }
    assert_eq!(read_all(&*two, &[mine, yours]).await.map(|bytes| bytes.len()), Ok(1_400_000));
    assert_eq!(two.release(vec![mine]).await, Ok(vec![]));
    assert!(matches!(read_all(&*one, &[mine]).await, Err(Error::Corrupt(_))));
    // One front end shuts down: content that it stored and no row names can be removed now.
    first.close().await.unwrap();
    assert!(two.sweep().await.unwrap().finish().await.unwrap().is_complete);
    assert_eq!(read_all(&*two, &[yours]).await.as_ref(), Ok(&bytes));
    second.close().await.unwrap();
}

/// Frees content that no row names, and returns the number of bytes.
pub async fn sweep(content: &dyn Content, named: &[Piece]) -> u64 {
    let mut sweep = content.sweep().await.expect("a sweep begins");
    named.iter().for_each(|piece| sweep.keep(piece));
    sweep.finish().await.expect("a sweep ends").freed_bytes
}

/// One front end at a time removes what another one left behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stream_that_another_front_end_sweeps_is_left_to_it() {
    let schema = schema().await;
    let (gone, theirs) = front_end(&schema).await;
    let (_other, ours) = front_end(&schema).await;
    let piece = write_all(&*theirs, &bytes_of(1, 300_000)).await[0];
    gone.close().await.unwrap();
    let begun = ours.sweep().await.unwrap();
    let hold = |holder: &str| format!("UPDATE {schema}.lazuli_stream SET holder = '{holder}'");
    let client = client(&server()).await;
    client.batch_execute(&hold("sweep of another front end")).await.unwrap();
    assert_eq!(begun.finish().await.unwrap().freed_bytes, 0);
    assert_eq!(sweep(&*ours, &[]).await, 0);
    client.batch_execute(&hold("")).await.unwrap();
    assert_eq!(sweep(&*ours, &[piece]).await, 0, "it is named");
    assert_eq!(sweep(&*ours, &[]).await, piece.footprint());
}

/// Makes the last renewals of all streams 25 hours old by the clock of the database.
async fn age(schema: &str) {
    let age = format!("UPDATE {schema}.lazuli_stream SET seen = seen - interval '25 hours'");
    client(&server()).await.batch_execute(&age).await.expect("the table exists");
}

/// A front end looks for others that are gone, for eleven minutes of its own clock.
pub async fn watch(engine: &Postgres) {
    let start = Instant::now();
    for minute in 0..12 {
        engine.renew(start + Duration::from_secs(60) * minute).await.expect("the database responds");
    }
}

pub async fn front_end(schema: &str) -> (Postgres, Arc<dyn Content>) {
    let engine = Postgres::open(url_of(&server(), schema), Clock::system()).await.expect("it opens");
    let content = engine.content().expect("it has content");
    (engine, content)
}

/// Streams of a killed front end are swept after a day without a sign of life.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_front_end_that_was_lost_is_swept() {
    let schema = schema().await;
    let (lost, theirs) = front_end(&schema).await;
    let (other, ours) = front_end(&schema).await;
    let bytes = bytes_of(1, 300_000);
    let pieces = [write_all(&*theirs, &bytes).await[0], write_all(&*theirs, &bytes).await[0]];
    drop((lost, theirs));
    watch(&other).await;
    assert_eq!(sweep(&*ours, &[]).await, 0, "it was seen today");
    age(&schema).await;
    watch(&other).await;
    assert_eq!(sweep(&*ours, &pieces[..1]).await, pieces[1].footprint());
    assert_eq!(read_all(&*ours, &pieces[..1]).await.as_ref(), Ok(&bytes));
    assert_eq!(settled(&*ours).await.live, pieces[0].footprint());
}

/// A failover to a server whose clock is a day ahead. A sweep that began before front ends renewed their streams took
/// these, and removed content that was stored and about to be named.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clock_jump_takes_no_stream_from_a_live_front_end() {
    let schema = schema().await;
    let (live, theirs) = front_end(&schema).await;
    let (other, ours) = front_end(&schema).await;
    let bytes = bytes_of(1, 300_000);
    let piece = write_all(&*theirs, &bytes).await[0];
    age(&schema).await;
    assert_eq!(sweep(&*ours, &[]).await, 0);
    let start = Instant::now();
    for minute in 0..30 {
        other.renew(start + Duration::from_secs(60) * minute).await.unwrap();
        if minute % 3 == 0 {
            live.renew(Instant::now()).await.unwrap();
            age(&schema).await;
        }
    }
    assert_eq!(sweep(&*ours, &[]).await, 0);
    assert_eq!(read_all(&*ours, &[piece]).await.as_ref(), Ok(&bytes));
    assert_eq!(write_all(&*theirs, &bytes).await[0].stream, piece.stream, "it still has its stream");
}

/// Two front ends, of which one does not respond while the other sweeps what it has written.
struct Swept {
    away: (Postgres, Arc<dyn Content>),
    other: (Postgres, Arc<dyn Content>),
    /// Begun by the first one.
    upload: Box<dyn ContentWriter>,
    /// The content that it wrote.
    bytes: Bytes,
}

async fn swept_while_away() -> Swept {
    let schema = schema().await;
    let (away, other) = (front_end(&schema).await, front_end(&schema).await);
    let bytes = bytes_of(1, 600_000);
    let mut upload = away.1.begin(None, None);
    upload.write(bytes.clone()).await.expect("the database responds");
    write_all(&*away.1, &bytes).await;
    age(&schema).await;
    watch(&other.0).await;
    assert_ne!(sweep(&*other.1, &[]).await, 0);
    Swept { away, other, upload, bytes }
}

/// A front end that returns after its streams were taken away names nothing in them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_front_end_that_returns_cannot_name_swept_content() {
    let Swept { away: (away, theirs), other: (_other, ours), upload, bytes } = swept_while_away().await;
    away.renew(Instant::now()).await.unwrap();
    let sealed = upload.seal().await;
    assert!(matches!(sealed, Err(Error::Unavailable(_))), "{sealed:?}");
    // An upload that was sealed before cannot commit.
    let named = away.apply(TableId(7), "p", vec![upsert("r", "a piece")]).await;
    assert!(matches!(named, Err(Error::Unavailable(_))), "{named:?}");
    let pieces = write_all(&*theirs, &bytes).await;
    assert_eq!(sweep(&*ours, &[]).await, 0, "it has a new stream");
    assert_eq!(read_all(&*ours, &pieces).await, Ok(bytes));
}

/// The clocks of a suspended machine stop: when it resumes, its front end still trusts its slot and its streams. An upload
/// that it sealed then named content that was swept meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_upload_of_a_machine_that_was_suspended_is_rejected() {
    let swept = swept_while_away().await;
    let sealed = swept.upload.seal().await;
    assert!(matches!(sealed, Err(Error::Unavailable(_))), "{sealed:?}");
}

/// Damage in the database is found: a changed, a shortened and a missing chunk.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn damaged_chunks_are_never_returned() {
    let schema = schema().await;
    let engine = open(url_of(&server(), &schema), Clock::system()).await;
    let content = engine.content().unwrap();
    for damage in [
        "UPDATE lazuli_chunk SET val = set_byte(val, 70000, get_byte(val, 70000) # 1) WHERE $place + 262144",
        "UPDATE lazuli_chunk SET val = set_byte(val, 3, get_byte(val, 3) # 1) WHERE $place + 600000",
        "UPDATE lazuli_chunk SET val = substring(val FROM 1 FOR 1000) WHERE $place + 262144",
        "DELETE FROM lazuli_chunk WHERE $place + 262144",
        "DELETE FROM lazuli_chunk WHERE $place + 600000",
    ] {
        let bytes = bytes_of(1, 600_000);
        let piece = write_all(&*content, &bytes).await[0];
        let sql = damage
            .replace("lazuli_chunk", &format!("{schema}.lazuli_chunk"))
            .replace("$place", &format!("stream = {} AND pos = {}", piece.stream, piece.offset));
        client(&server()).await.batch_execute(&sql).await.unwrap();
        let found = read_all(&*content, &[piece]).await;
        assert!(matches!(found, Err(Error::Corrupt(_))), "{damage}: {:?}", found.map(drop));
    }
}

/// A database of the previous version gets the tables of content, and keeps its rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_of_version_1_is_migrated() {
    let name = schema().await;
    let url = url_of(&server(), &name);
    let engine = open(url.clone(), Clock::system()).await;
    engine.apply(TableId(7), "p", vec![upsert("r", "kept")]).await.unwrap();
    engine.close().await.unwrap();
    let back = format!(
        "DROP TABLE {name}.lazuli_chunk; DROP TABLE {name}.lazuli_stream; \
         DELETE FROM {name}.lazuli_meta WHERE name = 'streams'; \
         UPDATE {name}.lazuli_meta SET value = 1 WHERE name = 'schema'"
    );
    client(&server()).await.batch_execute(&back).await.unwrap();
    let rejected = Postgres::open(url.clone(), Clock::system()).await.err();
    assert!(rejected.is_some_and(|why| why.to_string().contains("engine migrate")));
    assert_eq!(Postgres::migrate(url.clone()).await, Ok(Some(1)));
    let engine = open(url, Clock::system()).await;
    let content = engine.content().unwrap();
    let bytes = bytes_of(1, 100_000);
    let pieces = write_all(&*content, &bytes).await;
    assert_eq!(read_all(&*content, &pieces).await, Ok(bytes));
    assert!(engine.get(TableId(7), "p", &["r"]).await.unwrap()[0].is_some());
}
