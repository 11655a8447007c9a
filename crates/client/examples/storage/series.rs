//! A data series that does not fit into one entity (the limit is 252 properties): the 1,440 minutes of a day as one blob. One
//! read returns the series. Writers use the ETag, as they would with an entity (PT-14).

use lazuli_client::{Dynamic, Error, Result};

use super::blob::Container;
use super::services::Storage;

const MINUTES: usize = 24 * 60;
const TRIES_MAX: usize = 10;

pub async fn run(storage: &Storage) -> Result<()> {
    let mut day = Dynamic::new("Sales", "2012-02-29");
    let rejected = (0..MINUTES).find(|minute| day.set(format!("Minute{minute:04}"), 0).is_err());
    assert_eq!(rejected, Some(252), "an entity has room for four hours");

    let series = storage.fresh_container("series").await?;
    let blob = "Sales/2012-02-29.csv";
    series.put(blob, write(&[0; MINUTES]), &[("If-None-Match", "*")]).await?.expect(201)?;
    count(&series, blob, 9 * 60).await?;
    let stale = series.get(blob, &[]).await?.expect(200)?;
    count(&series, blob, 23 * 60 + 59).await?;
    // The loser of a race reads again, instead of overwriting a change that it has not seen.
    let late = series.put(blob, stale.body(), &[("If-Match", stale.etag())]).await?;
    assert_eq!(late.rejection(), (412, "ConditionNotMet"));
    count(&series, blob, 9 * 60).await?;
    let chart = read(&series.get(blob, &[]).await?.expect(200)?.text())?;
    assert_eq!((chart.len(), chart[540], chart[1439], chart.iter().sum::<u32>()), (MINUTES, 2, 1, 3));
    series.drop().await
}

/// Counts one message in a minute.
async fn count(series: &Container, blob: &str, minute: usize) -> Result<()> {
    for _ in 0..TRIES_MAX {
        let found = series.get(blob, &[]).await?.expect(200)?;
        let mut counts = read(&found.text())?;
        counts[minute] += 1;
        let written = series.put(blob, write(&counts), &[("If-Match", found.etag())]).await?;
        if written.status() != 412 {
            return written.expect(201).map(drop);
        }
    }
    Err(Error::input("too much contention"))
}

fn write(counts: &[u32]) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn read(text: &str) -> Result<Vec<u32>> {
    text.split(',').map(|count| count.parse().map_err(|_| Error::input("not a count"))).collect()
}
