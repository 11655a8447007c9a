//! GD-05 to GD-07: one-to-many three ways, one-to-one two ways, and a join in the client.

use std::collections::HashMap;

use lazuli_client::{Dynamic, Entity, ErrorKind, Result, Table, TableService, partition_key};

use super::shared::{assert_rows_read, fresh, read, read_point};

pub async fn run(service: &TableService) -> Result<()> {
    one_to_many(service).await?;
    one_to_one(service).await?;
    join_in_the_client(service).await
}

fn employee(partition: &str, row: &str) -> Result<Dynamic> {
    Dynamic::new(partition, row).with("LastName", "Jones")
}

/// GD-05: departments and employees in one partition, in two tables, or the department inside each employee.
async fn one_to_many(service: &TableService) -> Result<()> {
    // In one partition both change together.
    let same = fresh(service, "SamePartition").await?;
    same.insert(&Dynamic::new("Sales", "Department").with("EmployeeCount", 0)?).await?;
    let mut hire = same.partition("Sales")?.batch();
    hire.insert(&employee("Sales", "000001")?)?;
    hire.merge(&Dynamic::new("Sales", "Department").with("EmployeeCount", 1)?)?;
    hire.execute().await?;
    assert_eq!(count(&same, "Sales").await?, Some(1));
    // Moving to another department involves two partitions, which a batch cannot span.
    let mut moved = same.partition("Sales")?.batch();
    moved.delete("000001")?;
    let rejected = moved.insert(&employee("Marketing", "000001")?).map(drop);
    assert_eq!(rejected.err().map(|error| error.kind()), Some(ErrorKind::Input));

    // In two tables they change one after the other, and a reader can see the state in between.
    let (departments, employees) = (fresh(service, "Departments").await?, fresh(service, "Employees").await?);
    departments.insert(&Dynamic::new("Sales", "Department").with("EmployeeCount", 0)?).await?;
    employees.insert(&employee("Sales", "000001")?).await?;
    assert_eq!(count(&departments, "Sales").await?, Some(0), "not yet");
    departments.merge(&Dynamic::new("Sales", "Department").with("EmployeeCount", 1)?).await?;

    // Denormalised, one read returns both, but a new manager means changing every employee.
    let flat = fresh(service, "Flat").await?;
    for row in ["000001", "000002"] {
        flat.insert(&employee("Sales", row)?.with("DepartmentManager", "Ann")?).await?;
    }
    let one = read_point::<Dynamic>(&flat, "Sales", "000001").await?;
    assert_eq!(one.get::<String>("DepartmentManager")?.as_deref(), Some("Ann"));
    let (all, ran) = read(flat.query::<Dynamic>().filter(partition_key().eq("Sales"))).await?;
    assert_rows_read(&ran, 2);
    let mut changes = flat.partition("Sales")?.batch();
    for row in all {
        changes.merge(&Dynamic::new("Sales", row.row_key).with("DepartmentManager", "Bob")?)?;
    }
    assert_eq!(changes.len(), 2);
    changes.execute().await?;
    for table in [same, departments, employees, flat] {
        table.delete().await?;
    }
    Ok(())
}

async fn count(table: &Table, department: &str) -> Result<Option<i32>> {
    read_point::<Dynamic>(table, department, "Department").await?.get("EmployeeCount")
}

/// An entity that another one refers to.
#[derive(Debug, Entity)]
struct Account {
    #[table(partition_key)]
    customer: String,
    #[table(row_key)]
    number: String,
    /// Explicit: the keys of the other entity.
    address_partition: String,
    address_row: String,
}

/// GD-06: linked by a key convention, or by stored keys.
async fn one_to_one(service: &TableService) -> Result<()> {
    let table = fresh(service, "OneToOne").await?;
    let account = Account {
        customer: "c1".into(),
        number: "account".into(),
        address_partition: "NL".into(),
        address_row: "2628CD".into(),
    };
    table.insert(&account).await?;
    // Implicit: the same partition, and a row key that follows from the kind.
    table.insert(&Dynamic::new("c1", "settings").with("Theme", "dark")?).await?;
    table.insert(&Dynamic::new("NL", "2628CD").with("City", "Delft")?).await?;
    let account = read_point::<Account>(&table, "c1", "account").await?;
    let settings = read_point::<Dynamic>(&table, &account.customer, "settings").await?;
    let address = read_point::<Dynamic>(&table, &account.address_partition, &account.address_row).await?;
    assert_eq!(settings.get::<String>("Theme")?.as_deref(), Some("dark"));
    assert_eq!(address.get::<String>("City")?.as_deref(), Some("Delft"));
    table.delete().await
}

/// GD-07: a small table that rarely changes is read once and cached.
async fn join_in_the_client(service: &TableService) -> Result<()> {
    let (departments, employees) =
        (fresh(service, "JoinDepartments").await?, fresh(service, "JoinEmployees").await?);
    for (department, building) in [("Sales", "North"), ("Marketing", "South")] {
        departments.insert(&Dynamic::new("departments", department).with("Building", building)?).await?;
        employees.insert(&employee(department, "000001")?).await?;
    }
    let (rows, ran) = read(departments.query::<Dynamic>()).await?;
    assert_eq!(ran.requests, 1);
    assert_rows_read(&ran, 2);
    let mut buildings = HashMap::new();
    for row in rows {
        buildings.insert(row.row_key.clone(), row.get::<String>("Building")?.unwrap_or_default());
    }
    let located =
        employees.query::<Dynamic>().map(move |employee| buildings.get(&employee.partition_key).cloned());
    let located: Vec<Option<String>> = located.collect().await?;
    assert_eq!(located, [Some("South".to_owned()), Some("North".to_owned())], "without a request");
    departments.delete().await?;
    employees.delete().await
}
