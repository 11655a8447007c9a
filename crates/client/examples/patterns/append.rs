//! PT-17: keys that only grow put all new entities into one place. With the hour as partition, every write goes to the
//! newest partition; with a key based on the content, writes are spread, and a query about the content reads few rows.

use std::collections::HashSet;

use lazuli_client::{Dynamic, Entity, Result, TableService, keys, partition_key, prop};

use super::shared::{assert_rows_read, fresh, read};

pub async fn run(service: &TableService) -> Result<()> {
    let (hourly, spread) = (fresh(service, "ByHour").await?, fresh(service, "ByEmployee").await?);
    let mut touched = [HashSet::new(), HashSet::new()];
    for n in 0..40_u64 {
        let employee = format!("Sales_{}", keys::padded(n % 8, 4)?);
        let by_hour = Dynamic::new("2012022909", keys::padded(n, 6)?).with("Employee", employee.as_str())?;
        let by_employee = Dynamic::new(employee, keys::padded(n, 6)?);
        touched[0].insert(by_hour.partition_key().into_owned());
        touched[1].insert(by_employee.partition_key().into_owned());
        hourly.insert(&by_hour).await?;
        spread.insert(&by_employee).await?;
    }
    assert_eq!(
        touched.map(|partitions| partitions.len()),
        [1, 8],
        "partitions that share the writes of an hour"
    );
    let of_one = partition_key().eq("2012022909") & prop("Employee").eq("Sales_0003");
    let (rows, ran) = read(hourly.query::<Dynamic>().filter(of_one)).await?;
    let (same, spread_ran) = read(spread.query::<Dynamic>().filter(partition_key().eq("Sales_0003"))).await?;
    assert_eq!((rows.len(), same.len()), (5, 5));
    assert_rows_read(&ran, 40);
    assert_rows_read(&spread_ran, 5);
    hourly.delete().await?;
    spread.delete().await
}
