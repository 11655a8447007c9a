//! PT-14: the 24 counters of a day in one entity. A merge changes an hour, and the chart is one read of one row.

use lazuli_client::{Dynamic, Result, TableService, Versioned};

use super::shared::{fresh, read_point};

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "DataSeries").await?;
    let mut day = Dynamic::new("Sales", "2012-02-29");
    for hour in 0..24 {
        day.set(format!("Messages{hour:02}"), 0)?;
    }
    table.insert(&day).await?;
    // A merge sends only the hour that changed.
    table.merge(&Dynamic::new("Sales", "2012-02-29").with("Messages09", 17)?).await?;
    let read = read_point::<Versioned<Dynamic>>(&table, "Sales", "2012-02-29").await?;
    let chart: Vec<i32> = (0..24)
        .map(|hour| Ok(read.value.get::<i32>(&format!("Messages{hour:02}"))?.unwrap_or(0)))
        .collect::<Result<_>>()?;
    assert_eq!((chart.len(), chart[9], chart.iter().sum::<i32>()), (24, 17, 17));
    // Two writers of one day conflict at its ETag, even if they count different hours …
    table.merge(&Dynamic::new("Sales", "2012-02-29").with("Messages10", 1)?).await?;
    let late = Dynamic::new("Sales", "2012-02-29").with("Messages11", 1)?;
    assert!(table.merge_if(&late, &read.etag).await.is_err_and(|error| error.is_precondition_failed()));
    // … and `modify` reads again and continues counting.
    let counted = table
        .modify("Sales", "2012-02-29", |day: &mut Dynamic| {
            let before = day.get::<i32>("Messages11")?.unwrap_or(0);
            day.set("Messages11", before + 1).map(drop)
        })
        .await?;
    assert_eq!(counted.value.get::<i32>("Messages11")?, Some(1));
    table.delete().await
}
