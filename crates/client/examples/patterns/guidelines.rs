//! GD-01 to GD-04: the sample table of employees and departments, and the cost of each kind of query.

use lazuli_client::{Dynamic, Result, TableService, keys, partition_key, prop, row_key};

use super::shared::{assert_rows_read, fresh, read};

pub async fn run(service: &TableService) -> Result<()> {
    sample_table(service).await?;
    what_reading_costs(service).await?;
    copies_summaries_projections(service).await?;
    spread_keys(service).await
}

/// GD-01: the four rows of the guide, of two kinds, in one table.
async fn sample_table(service: &TableService) -> Result<()> {
    let table = fresh(service, "Sample").await?;
    for (department, number, first, last) in [
        ("Marketing", "00001", "Don", "Hall"),
        ("Marketing", "00002", "Jun", "Cao"),
        ("Sales", "00010", "Ken", "Kwok"),
    ] {
        let employee = Dynamic::new(department, number).with("FirstName", first)?.with("LastName", last)?;
        table.insert(&employee.with("Age", 34)?.with("Email", format!("{first}@contoso.com"))?).await?;
    }
    let department = Dynamic::new("Marketing", "Department");
    table.insert(&department.with("DepartmentName", "Marketing")?.with("EmployeeCount", 153)?).await?;
    assert_eq!(table.query::<Dynamic>().count().await?, 4);
    assert_eq!(table.query::<Dynamic>().filter(prop("EmployeeCount").gt(0)).count().await?, 1);
    table.delete().await
}

/// GD-02: a point reads less than a range, a range less than a partition, a partition less than the table.
async fn what_reading_costs(service: &TableService) -> Result<()> {
    let table = fresh(service, "Costs").await?;
    for department in ["Marketing", "Sales"] {
        let mut batch = table.partition(department)?.batch();
        for number in 0..50 {
            batch.insert(&Dynamic::new(department, keys::padded(number, 6)?).with("LastName", "Smith")?)?;
        }
        batch.execute().await?;
    }
    let sales = || partition_key().eq("Sales");
    let point = sales() & row_key().eq("000002");
    let range = sales() & row_key().ge("000010") & row_key().lt("000020");
    let partition = sales() & prop("LastName").eq("Jones");
    let whole = prop("LastName").eq("Jones");
    for (filter, reading, rows) in
        [(point, "point", 1), (range, "range", 10), (partition, "partition", 50), (whole, "table", 100)]
    {
        let (_, ran) = read(table.query::<Dynamic>().filter(filter)).await?;
        println!("{reading}: {ran}");
        assert_rows_read(&ran, rows);
    }
    table.delete().await
}

/// GD-03: a copy under another key, a maintained summary, a compound key, and properties that are not selected.
async fn copies_summaries_projections(service: &TableService) -> Result<()> {
    let table = fresh(service, "Copies").await?;
    let photo = vec![0_u8; 1000];
    let mut batch = table.partition("Sales")?.batch();
    for key in ["empid_000223", "email_jonesj@contoso.com"] {
        batch.insert(&Dynamic::new("Sales", key).with("LastName", "Jones")?.with("Photo", photo.clone())?)?;
    }
    batch.insert(&Dynamic::new("Sales", "summary").with("EmployeeCount", 1)?)?;
    batch.execute().await?;
    let by_mail = table.get::<Dynamic>("Sales", "email_jonesj@contoso.com").await?;
    assert_eq!(by_mail.value.get::<String>("LastName")?.as_deref(), Some("Jones"));
    let names = table.query::<Dynamic>().filter(row_key().starts_with("empid_")).select(["LastName"]);
    assert_eq!(names.explain().select, ["PartitionKey", "RowKey", "LastName", "_Type"]);
    assert!(names.collect().await?.iter().all(|employee| !employee.props.contains("Photo")));

    // The summary changes in the same transaction as its entities, so it is never wrong.
    let summary = table.get::<Dynamic>("Sales", "summary").await?;
    let count = summary.value.get::<i32>("EmployeeCount")?.unwrap_or(0) + 1;
    let mut hire = table.partition("Sales")?.batch();
    hire.insert(&Dynamic::new("Sales", "empid_000224").with("LastName", "Smith")?)?;
    hire.update_if(&Dynamic::new("Sales", "summary").with("EmployeeCount", count)?, &summary.etag)?;
    hire.execute().await?;
    let employees = row_key().ge("empid_") & row_key().lt("empid`");
    let (found, _) = read(table.query::<Dynamic>().filter(partition_key().eq("Sales") & employees)).await?;
    assert_eq!(found.len(), usize::try_from(count).unwrap_or(0));

    // With the year in the key, the reviews of an employee are a range, and one review is a point.
    for year in [2011, 2012, 2013] {
        table
            .insert(&Dynamic::new("Sales", format!("review_000223_{year}")).with("Rating", year % 5)?)
            .await?;
    }
    let reviews = partition_key().eq("Sales") & row_key().starts_with("review_000223_");
    let (found, ran) = read(table.query::<Dynamic>().filter(reviews)).await?;
    assert_eq!(found.len(), 3);
    assert_rows_read(&ran, 3);
    table.delete().await
}

/// GD-04: keys that spread the load. Reading one day of a hot partition reads all other days too; with the day in the
/// partition key it does not, and writers of different days do not conflict.
async fn spread_keys(service: &TableService) -> Result<()> {
    let table = fresh(service, "Spread").await?;
    for day in 1..=5_u64 {
        for number in 0..10 {
            let day_key = keys::padded(day, 2)?;
            let row = keys::padded(number, 4)?;
            table
                .insert(
                    &Dynamic::new("all", format!("{row}_{day_key}"))
                        .with("Day", i64::try_from(day).unwrap_or(0))?,
                )
                .await?;
            table.insert(&Dynamic::new(format!("day_{day_key}"), row)).await?;
        }
    }
    let (hot, hot_ran) =
        read(table.query::<Dynamic>().filter(partition_key().eq("all") & prop("Day").eq(3_i64))).await?;
    let (spread, spread_ran) = read(table.query::<Dynamic>().filter(partition_key().eq("day_03"))).await?;
    assert_eq!((hot.len(), spread.len()), (10, 10));
    assert_rows_read(&hot_ran, 50);
    assert_rows_read(&spread_ran, 10);
    table.delete().await
}
