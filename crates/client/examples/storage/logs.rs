//! PT-18: log data. By hour, all writes of a moment go to one partition of a table; by source, a question about a span of time
//! reads every partition. A blob per hour has neither problem: writers append to it, and readers find it by its name.

use lazuli_client::{Dynamic, Result, keys, partition_key, row_key};

use super::blob::Container;
use super::services::Storage;
use super::shared::{assert_rows_read, fresh, read};

const SOURCES: u64 = 5;
const MINUTES: u64 = 60;

pub async fn run(storage: &Storage) -> Result<()> {
    let by_hour = fresh(&storage.tables, "LogByHour").await?;
    let by_source = fresh(&storage.tables, "LogBySource").await?;
    let logs = storage.fresh_container("logs").await?;
    for minute in 0..MINUTES {
        for source in 0..SOURCES {
            let time = format!("15:{}", keys::padded(minute, 2)?);
            let level = if minute % 5 == 0 { "error" } else { "info" };
            let row = format!("{time}_{source}");
            by_hour.insert(&Dynamic::new("2014073115", row.as_str()).with("Level", level)?).await?;
            by_source
                .insert(&Dynamic::new(format!("source{source}"), time.as_str()).with("Level", level)?)
                .await?;
            append(&logs, "app/2014/07/31/1500/000001.log", &format!("{time};{level};source{source}\n"))
                .await?;
        }
    }
    // Errors between 15:04 and 15:06. By hour it is a range, but the hour is one hot partition.
    let span = || row_key().ge("15:04") & row_key().lt("15:07");
    let (rows, ran) =
        read(by_hour.query::<Dynamic>().filter(partition_key().eq("2014073115") & span())).await?;
    assert_eq!(errors(&rows), SOURCES);
    assert_rows_read(&ran, 3 * SOURCES);
    // By source every partition is read.
    let (rows, ran) = read(by_source.query::<Dynamic>().filter(span())).await?;
    assert_eq!(errors(&rows), SOURCES);
    assert_rows_read(&ran, MINUTES * SOURCES);
    // In blobs: the names for the hour, then the lines for the minutes.
    let found = logs.list("app/2014/07/31/15").await?;
    assert_eq!(found, ["app/2014/07/31/1500/000001.log"]);
    let text = logs.get(&found[0], &[]).await?.expect(200)?.text();
    let lines = text.lines().filter(|line| ("15:04".."15:07").contains(&line.get(..5).unwrap_or_default()));
    assert_eq!(lines.filter(|line| line.contains(";error;")).count() as u64, SOURCES);
    logs.drop().await?;
    by_hour.delete().await?;
    by_source.delete().await
}

fn errors(rows: &[Dynamic]) -> u64 {
    let level = |row: &Dynamic| row.get::<String>("Level").ok().flatten();
    rows.iter().filter(|row| level(row).as_deref() == Some("error")).count() as u64
}

/// Appends a line. Any number of writers may do that at the same time; none of them reads the existing lines.
async fn append(logs: &Container, blob: &str, line: &str) -> Result<()> {
    let appended = logs.call("PUT", blob, "comp=appendblock", &[], line.into()).await?;
    if appended.status() != 404 {
        return appended.expect(201).map(drop);
    }
    // The first line of an hour. If two writers create the blob, one of them is rejected and both append.
    let create = [("x-ms-blob-type", "AppendBlob"), ("If-None-Match", "*")];
    let created = logs.call("PUT", blob, "", &create, Vec::new()).await?;
    assert!(matches!(created.status(), 201 | 409), "created by this writer or by another");
    logs.call("PUT", blob, "comp=appendblock", &[], line.into()).await?.expect(201).map(drop)
}
