//! PT-23: one query written in four ways: as a point, in the syntax of `$filter`, by names, and by typed fields. The
//! service receives the same filter.

use lazuli_client::{Entity, Filter, Result, TableService, prop, row_key};

use super::shared::{assert_rows_read, fresh, read};

#[derive(Clone, Debug, PartialEq, Entity)]
#[table(rename_all = "PascalCase")]
struct Employee {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    number: String,
    age: i32,
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "OneFilter").await?;
    let employee = Employee { department: "Sales".into(), number: "000001".into(), age: 41 };
    table.insert(&employee).await?;
    assert_eq!(table.get::<Employee>("Sales", "000001").await?.value, employee);

    let text = "PartitionKey eq 'Sales' and RowKey eq '000001' and Age gt 40";
    let parts = [Filter::parse("PartitionKey eq 'Sales'")?, row_key().eq("000001"), prop("Age").gt(40)];
    let combined = parts.into_iter().fold(Filter::all(), |all, part| all & part);
    let typed = Employee::department().eq("Sales") & Employee::number().eq("000001") & Employee::age().gt(40);
    for filter in [Filter::parse(text)?, combined, typed] {
        let query = table.query::<Employee>().filter(filter);
        assert_eq!(query.explain().filter.as_deref(), Some(text));
        let (found, ran) = read(query).await?;
        assert_eq!(found, std::slice::from_ref(&employee));
        assert_rows_read(&ran, 1);
    }
    table.delete().await
}
