//! PT-12: keys that count down put the newest first, so that the last ten are the first ten.

use lazuli_client::keys::Inverted;
use lazuli_client::{DateTime, Entity, Error, Result, TableService};

use super::shared::{assert_rows_read, fresh, read};

/// The stored key sorts newest first; in Rust the field is an ordinary time.
#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct Claim {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    submitted: Inverted<DateTime>,
    amount: i32,
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "LogTail").await?;
    let mut batch = table.partition("Sales")?.batch();
    for day in 1..=28 {
        let submitted = DateTime::parse(&format!("2012-02-{day:02}T09:30:00Z"));
        let submitted = Inverted(submitted.ok_or_else(|| Error::input("a time"))?);
        batch.insert(&Claim { department: "Sales".into(), submitted, amount: day })?;
    }
    batch.execute().await?;
    let (newest, ran) = read(table.query::<Claim>().filter(Claim::department().eq("Sales")).take(10)).await?;
    assert_eq!(
        newest.iter().map(|claim| claim.amount).collect::<Vec<_>>(),
        (19..=28).rev().collect::<Vec<_>>()
    );
    assert_eq!(newest[0].submitted.0, DateTime::parse("2012-02-28T09:30:00Z").unwrap_or(DateTime::MIN));
    assert_rows_read(&ran, 10);
    // Entries since a time, in the same order: newer entries have smaller keys.
    let since = Inverted(DateTime::parse("2012-02-25").unwrap_or(DateTime::MIN));
    let recent = Claim::department().eq("Sales") & Claim::submitted().lt(since);
    assert_eq!(table.query::<Claim>().filter(recent).count().await?, 4);
    table.delete().await
}
