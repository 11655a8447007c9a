//! PT-01, PT-02: a second copy of each entity in the same partition, under another key, kept in sync by one transaction.

use lazuli_client::{Dynamic, Result, Table, TableService, partition_key, row_key};

use super::shared::{assert_rows_read, fresh, read};

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "SecondaryIndex").await?;
    for (id, mail) in [("000110", "annb"), ("000150", "andys"), ("000223", "jonesj")] {
        hire(&table, id, &format!("{mail}@contoso.com")).await?;
    }
    let sales = || partition_key().eq("Sales");
    for (filter, rows) in [
        (sales() & row_key().eq("empid_000223"), 1),
        (sales() & row_key().eq("email_jonesj@contoso.com"), 1),
        (sales() & row_key().ge("empid_000100") & row_key().le("empid_000199"), 2),
        (sales() & row_key().ge("email_a") & row_key().lt("email_b"), 2),
    ] {
        let (found, ran) = read(table.query::<Dynamic>().filter(filter)).await?;
        assert_eq!(found.len(), rows);
        assert_rows_read(&ran, u64::try_from(rows).unwrap_or_default());
    }

    // PT-02: the copies by name have only the properties that the list of names shows. They need no second read, and
    // are small.
    let mut both = table.partition("Sales")?.batch();
    both.insert(
        &Dynamic::new("Sales", "empid_000300").with("LastName", "Cao")?.with("Photo", vec![0_u8; 1000])?,
    )?;
    both.insert(&Dynamic::new("Sales", "last_Cao_000300").with("EmployeeId", "000300")?)?;
    both.execute().await?;
    let list = sales() & row_key().starts_with("last_");
    let (found, ran) = read(table.query::<Dynamic>().filter(list)).await?;
    assert!(found.len() == 1 && !found[0].props.contains("Photo"));
    assert_rows_read(&ran, 1);

    // An even smaller copy has only the key of the main entity, which takes a second read.
    let pointer = Dynamic::new("Sales", "name_Jones").with("EmployeeId", "000223")?;
    table.insert(&pointer).await?;
    let id = table.get::<Dynamic>("Sales", "name_Jones").await?.value.get::<String>("EmployeeId")?;
    let whole = table.get::<Dynamic>("Sales", format!("empid_{}", id.unwrap_or_default())).await?;
    assert_eq!(whole.value.get::<String>("Email")?.as_deref(), Some("jonesj@contoso.com"));

    // Changing the mail address changes both copies, or neither.
    let mut change = table.partition("Sales")?.batch();
    change.merge(&Dynamic::new("Sales", "empid_000223").with("Email", "jones@contoso.com")?)?;
    change.delete("email_jonesj@contoso.com")?;
    change.insert(&Dynamic::new("Sales", "email_annb@contoso.com"))?;
    let rejected = change.execute().await;
    assert!(rejected.is_err_and(|error| error.batch_index() == Some(2)), "that address is taken");
    let unchanged = table.get::<Dynamic>("Sales", "empid_000223").await?;
    assert_eq!(unchanged.value.get::<String>("Email")?.as_deref(), Some("jonesj@contoso.com"));
    table.delete().await
}

async fn hire(table: &Table, id: &str, mail: &str) -> Result<()> {
    let mut both = table.partition("Sales")?.batch();
    for key in [format!("empid_{id}"), format!("email_{mail}")] {
        both.insert(&Dynamic::new("Sales", key).with("EmployeeId", id)?.with("Email", mail)?)?;
    }
    both.execute().await.map(drop)
}
