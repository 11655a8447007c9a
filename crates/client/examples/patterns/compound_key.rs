//! PT-11: a key of two values. The yearly reviews of an employee follow the employee, and one range reads
//! them all.

use lazuli_client::{Dynamic, Entity, Result, TableService, partition_key, row_key};

use super::shared::{assert_rows_read, fresh, read};

/// The history view: only the comments are selected, not the photo.
#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct Review {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    key: String,
    manager_rating: Option<i32>,
    comments: Option<String>,
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "CompoundKey").await?;
    for (employee, year, rating) in [
        ("000123", 2011, 3),
        ("000123", 2012, 4),
        ("000123", 2013, 5),
        ("000124", 2012, 1),
        ("000122", 2012, 2),
    ] {
        let review =
            Dynamic::new("Sales", format!("empid_{employee}_{year}")).with("ManagerRating", rating)?;
        table.insert(&review.with("Comments", format!("in {year}"))?.with("Photo", vec![0_u8; 100])?).await?;
    }
    let history = partition_key().eq("Sales") & row_key().ge("empid_000123") & row_key().lt("empid_000124");
    let query = table.query::<Dynamic>().filter(history).project::<Review>();
    assert_eq!(query.explain().select, ["PartitionKey", "RowKey", "ManagerRating", "Comments"]);
    let (reviews, ran) = read(query).await?;
    assert_eq!(reviews.iter().filter_map(|review| review.manager_rating).collect::<Vec<_>>(), [3, 4, 5]);
    assert_rows_read(&ran, 3);
    table.delete().await
}
