//! PR-13: documents as partitions, their versions as rows. All versions of a document are one partition; "modified before" names
//! no partition, so it reads the whole table.

use lazuli_client::{Dynamic, Result, TableService, keys, partition_key, prop};

use super::shared::{assert_rows_read, fresh, read};

const DOCUMENTS: u64 = 4;
const VERSIONS: u64 = 6;

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "DocumentVersions").await?;
    for document in 0..DOCUMENTS {
        let name = format!("document{document}");
        let mut versions = table.partition(name.as_str())?.batch();
        for version in 0..VERSIONS {
            let day = i64::try_from(document + version).unwrap_or(0);
            versions
                .insert(&Dynamic::new(name.as_str(), keys::padded(version, 4)?).with("ModifiedDay", day)?)?;
        }
        versions.execute().await?;
    }
    let (all, ran) = read(table.query::<Dynamic>().filter(partition_key().eq("document2"))).await?;
    assert_eq!(all.last().map(|version| &*version.row_key), Some("0005"), "the newest is the last one");
    assert_rows_read(&ran, VERSIONS);

    let (old, ran) = read(table.query::<Dynamic>().filter(prop("ModifiedDay").lt(2_i64))).await?;
    assert_eq!(old.len(), 3);
    assert_rows_read(&ran, DOCUMENTS * VERSIONS);
    table.delete().await
}
