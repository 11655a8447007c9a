//! Batches: no panic, bounded time, every body gets a response, and each decoded operation satisfies the invariants of
//! its type. The first byte of the input picks the version, the second one the style of addresses.

#![no_main]

use std::collections::HashSet;

use lazuli_fuzz::{VERSIONS, context};
use lazuli_model::table::limits::BATCH_OPERATIONS_MAX;
use lazuli_model::table::operation::{EntityChange, EntityPage, EntityWrite, StoredEntity, Written};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{DateTime, Guid, PackedRow, Properties};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::table::batch;
use lazuli_protocol::table::batch::{Batch, BatchPlan};
use lazuli_protocol::{Address, Head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [version, style, body @ ..] = input else { return };
    let version = VERSIONS[usize::from(*version) % VERSIONS.len()];
    let (host, target) = match style % 2 {
        0 => ("127.0.0.1:10002", "/dev/$batch"),
        _ => ("dev.table.core.windows.net", "/$batch"),
    };
    let fields = [
        Field { name: "Host", value: host },
        Field { name: "Content-Type", value: "multipart/mixed; boundary=batch_1" },
    ];
    let head = Head { method: "POST", target, fields: &fields };
    let address = Address::parse(&head, lazuli_model::Service::Table, |name| name == "dev")
        .expect("the address is fixed");
    let Ok(batch) = batch::decode(&head, &address, version, body) else { return };
    let outcome = match &batch.plan {
        BatchPlan::Nothing => Ok(Outcome::Batch(Vec::new())),
        BatchPlan::Rejected(failure) => {
            assert!(failure.index.is_some_and(|index| index < batch.parts.len()));
            Err(failure.clone())
        }
        BatchPlan::Run(operation) => Ok(succeed(&batch, operation)),
    };
    let ids = [Guid([1; 16]), Guid([2; 16])];
    let response =
        batch::encode(&context(version), &batch, outcome.as_ref(), ids).expect("rows just packed are whole");
    assert_eq!(response.status, 202);
});

fn succeed(batch: &Batch, operation: &Operation) -> Outcome {
    match operation {
        Operation::Batch { writes, .. } => {
            check(batch, writes);
            Outcome::Batch(writes.iter().map(written).collect())
        }
        Operation::GetEntity { key, .. } => Outcome::Entity(StoredEntity {
            partition: key.partition.as_str().into(),
            row: key.row.as_str().into(),
            timestamp: DateTime::MAX,
            properties: PackedRow::pack(&Properties::default()),
        }),
        Operation::QueryEntities { .. } => Outcome::Page(EntityPage::default()),
        other => panic!("{} in a batch", other.kind().name()),
    }
}

fn check(batch: &Batch, writes: &[EntityWrite]) {
    assert!((1..=BATCH_OPERATIONS_MAX).contains(&writes.len()));
    assert_eq!(batch.parts.len(), writes.len());
    assert!(writes.iter().all(|write| write.key.partition == writes[0].key.partition));
    assert_eq!(writes.iter().map(|write| &write.key).collect::<HashSet<_>>().len(), writes.len());
}

fn written(write: &EntityWrite) -> Written {
    match &write.change {
        EntityChange::Insert(properties) => Written::Inserted(StoredEntity {
            partition: write.key.partition.as_str().into(),
            row: write.key.row.as_str().into(),
            timestamp: DateTime::MAX,
            properties: PackedRow::pack(properties),
        }),
        EntityChange::Delete(_) => Written::Deleted,
        _ => Written::Updated(DateTime::MAX),
    }
}
