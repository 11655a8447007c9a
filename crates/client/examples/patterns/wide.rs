//! PT-15: more properties than one entity can have. Counters for each day of a year are in two entities, which change
//! in one transaction and are read as two points.

use lazuli_client::{Dynamic, Result, TableService};

use super::shared::{fresh, read_point};

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "Wide").await?;
    let mut too_wide = Dynamic::new("Sales", "2012");
    let rejected =
        (1..=365).map(|day| too_wide.set(format!("Day{day:03}"), 1).map(drop)).find(Result::is_err);
    assert!(rejected.is_some(), "the limit is 252 properties, and setting the 253rd fails");

    let mut both = table.partition("Sales")?.batch();
    for (row, days) in [("2012_01", 1..=200), ("2012_02", 201..=365)] {
        let mut half = Dynamic::new("Sales", row);
        for day in days {
            half.set(format!("Day{day:03}"), day)?;
        }
        both.insert(&half)?;
    }
    both.execute().await?;
    let mut both = table.partition("Sales")?.batch();
    both.merge(&Dynamic::new("Sales", "2012_01").with("Day200", 0)?)?;
    both.merge(&Dynamic::new("Sales", "2012_02").with("Day201", 0)?)?;
    both.execute().await?;
    let mut sum = 0;
    for row in ["2012_01", "2012_02"] {
        let half = read_point::<Dynamic>(&table, "Sales", row).await?;
        for (name, _) in &half.props {
            sum += half.get::<i32>(name)?.unwrap_or(0);
        }
    }
    assert_eq!(sum, 365 * 366 / 2 - 200 - 201);
    table.delete().await
}
