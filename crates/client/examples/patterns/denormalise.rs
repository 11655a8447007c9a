//! PT-10: data that is read together is stored together. The manager's details are also in the department, and both copies
//! change in one transaction.

use lazuli_client::{Dynamic, Entity, Result, Shape, TableService};

use super::shared::{fresh, read_point};

#[derive(Clone, Debug, PartialEq, Shape)]
#[table(rename_all = "PascalCase")]
struct Manager {
    name: String,
    phone: String,
}

#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct Department {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    row: String,
    employee_count: i32,
    #[table(flatten, prefix = "Manager_")]
    manager: Manager,
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "Denormalised").await?;
    let manager = Manager { name: "Ann".into(), phone: "1234".into() };
    let mut department = Department {
        name: "Sales".into(),
        row: "Department".into(),
        employee_count: 20,
        manager: manager.clone(),
    };
    let mut together = table.partition("Sales")?.batch();
    together.insert(&department)?;
    together.insert(&Dynamic::new("Sales", "000001").with("Name", "Ann")?.with("Phone", "1234")?)?;
    together.execute().await?;
    // One read of one row returns the department with its manager.
    assert_eq!(read_point::<Department>(&table, "Sales", "Department").await?.manager, manager);
    department.manager.phone = "4321".into();
    let mut together = table.partition("Sales")?.batch();
    together.merge(&department)?;
    together.merge(&Dynamic::new("Sales", "000001").with("Phone", "4321")?)?;
    together.execute().await?;
    assert_eq!(
        read_point::<Dynamic>(&table, "Sales", "000001").await?.get::<String>("Phone")?.as_deref(),
        Some("4321")
    );
    assert_eq!(read_point::<Department>(&table, "Sales", "Department").await?.manager.phone, "4321");
    table.delete().await
}
