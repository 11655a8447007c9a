//! The parts that neither wait nor do I/O, each by itself: `cargo bench -p lazuli-bench`.
//!
//! With a name, runs only those that contain it: `cargo bench -p lazuli-bench -- filter`.

#![allow(clippy::unwrap_used, reason = "a measuring tool")]

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use lazuli_bench::session::BenchAccount;
use lazuli_bench::table::request::{entity, transaction};
use lazuli_model::table::Operation;
use lazuli_model::table::operation::{EntityChange, StoredEntity};
use lazuli_model::{DateTime, PackedRow, Service};
use lazuli_protocol::auth::{AccountKey, Scheme, SignedParts, sign};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::http::url::Base;
use lazuli_protocol::table::decode::Intent;
use lazuli_protocol::table::media::BodyFormat;
use lazuli_protocol::table::media::{Format, MetadataLevel};
use lazuli_protocol::table::response_format::ResponseFormat;
use lazuli_protocol::table::{batch, json};
use lazuli_protocol::{Address, ApiVersion, Head};

fn main() {
    divan::main();
}

/// An entity of a kilobyte as it is stored.
fn row() -> PackedRow {
    let table = "Bench".parse_table();
    let insert = Intent::Insert(table, BodyFormat::Json).with_body(entity("p", "r").as_bytes());
    match insert {
        Ok(Operation::Write { write, .. }) => match write.change {
            EntityChange::Insert(properties) => PackedRow::pack(&properties),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

trait ParseTable {
    fn parse_table(&self) -> lazuli_model::TableName;
}

impl ParseTable for str {
    fn parse_table(&self) -> lazuli_model::TableName {
        lazuli_model::TableName::new(self).unwrap()
    }
}

fn context() -> Context {
    Context {
        account: "devstoreaccount1".into(),
        base: Base::new("http", "127.0.0.1:10002", Some("devstoreaccount1")),
        now: DateTime::STORABLE_MIN,
        request_id: "0".into(),
        version: ApiVersion::V2019_02_02,
    }
}

mod filter {
    use lazuli_filter::{EntityRow, Matcher, Schema, parse, plan};
    use lazuli_model::table::row::RowRef;

    use super::*;

    const KEYS: &str = "PartitionKey eq 'a' and RowKey ge 'b' and RowKey lt 'c'";
    const MIXED: &str = "PartitionKey eq 'a' and (Prop1 eq 'x' or not (Prop2 gt 'y')) and Prop9 ne 'none'";

    #[divan::bench(args = [KEYS, MIXED])]
    fn read(text: &str) -> bool {
        parse(black_box(text), Schema::Entity).is_ok()
    }

    #[divan::bench(args = [KEYS, MIXED])]
    fn plan_ranges(bencher: Bencher<'_, '_>, text: &str) {
        let filter = parse(text, Schema::Entity).unwrap();
        bencher.bench(|| plan(black_box(&filter)));
    }

    #[divan::bench(args = ["Prop5 eq 'none'", "Prop5 gt 'y' and Prop1 eq 'x'", "Missing eq 1"])]
    fn match_row(bencher: Bencher<'_, '_>, text: &str) {
        let filter = parse(text, Schema::Entity).unwrap();
        let row = row();
        let mut matcher = Matcher::new(Some(&filter));
        bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
            let row = EntityRow {
                partition: "p",
                row: "r",
                timestamp: DateTime::MAX,
                properties: RowRef::new(black_box(row.as_bytes())).unwrap(),
            };
            matcher.matches(&row).unwrap()
        });
    }
}

mod keys {
    use lazuli_engine::keycode::{decode_key, encode_key_into};

    use super::*;

    #[divan::bench(args = ["customer-000042", "Größe \u{1F600}"])]
    fn encode(bencher: Bencher<'_, '_>, text: &str) {
        let mut out = Vec::new();
        bencher.bench_local(|| {
            out.clear();
            encode_key_into(&mut out, black_box(text), black_box(text));
            out.len()
        });
    }

    #[divan::bench(args = ["customer-000042", "Größe \u{1F600}"])]
    fn decode(bencher: Bencher<'_, '_>, text: &str) {
        let mut key = Vec::new();
        encode_key_into(&mut key, text, text);
        bencher.bench(|| decode_key(black_box(&key)).unwrap().0.len());
    }
}

mod rows {
    use super::*;

    #[divan::bench]
    fn read_json(bencher: Bencher<'_, '_>) {
        let body = entity("p", "r");
        bencher
            .counter(BytesCount::of_str(&body))
            .with_inputs(|| Intent::Insert("Bench".parse_table(), BodyFormat::Json))
            .bench_values(|intent| intent.with_body(black_box(body.as_bytes())).is_ok());
    }

    #[divan::bench]
    fn pack(bencher: Bencher<'_, '_>) {
        let body = entity("p", "r");
        let intent = Intent::Insert("Bench".parse_table(), BodyFormat::Json);
        let Ok(Operation::Write { write, .. }) = intent.with_body(body.as_bytes()) else { return };
        let EntityChange::Insert(properties) = write.change else { return };
        bencher.bench(|| PackedRow::pack(black_box(&properties)));
    }

    #[divan::bench(args = [MetadataLevel::None, MetadataLevel::Full])]
    fn write_json(bencher: Bencher<'_, '_>, level: &MetadataLevel) {
        let stored = StoredEntity {
            partition: "p".into(),
            row: "r".into(),
            timestamp: DateTime::STORABLE_MIN,
            properties: row(),
        };
        let context = context();
        let shape = ResponseFormat { format: Format::Json(*level), prefer: None, select: None };
        bencher.counter(BytesCount::new(stored.properties.as_bytes().len())).bench(|| {
            json::write::entity(&context, &shape, *level, "Bench", black_box(&stored)).unwrap().len()
        });
    }
}

mod requests {
    use super::*;

    #[divan::bench]
    fn signature(bencher: Bencher<'_, '_>) {
        let key = AccountKey::new(&[7; 64]);
        let parts = SignedParts {
            method: "GET",
            content_md5: "",
            content_type: "",
            date: "Mon, 27 Jun 2022 20:11:08 GMT",
            account: "devstoreaccount1",
            path: "/devstoreaccount1/Bench(PartitionKey='p',RowKey='000000000042')",
            comp: None,
        };
        bencher.bench(|| sign(&key, Scheme::SharedKey, black_box(&parts)));
    }

    #[divan::bench]
    fn path() -> bool {
        let path = black_box("/Bench(PartitionKey='p42',RowKey='000000000042')");
        lazuli_protocol::table::path::parse_path("devstoreaccount1", path).is_ok()
    }

    #[divan::bench]
    fn batch_of_100(bencher: Bencher<'_, '_>) {
        let rows: Vec<_> = (0..100).map(|row| ("p".to_owned(), format!("{row:09}"))).collect();
        let account = BenchAccount::new(Service::Table, "127.0.0.1:10002");
        let request = account.bytes(transaction(&account, "Bench", &rows));
        let start = request.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        let body = &request[start..];
        let fields = [
            Field { name: "Content-Type", value: "multipart/mixed; boundary=batch_b" },
            Field { name: "Host", value: "127.0.0.1:10002" },
        ];
        let head = Head { method: "POST", target: "/devstoreaccount1/$batch", fields: &fields };
        let address = Address::parse(&head, lazuli_model::Service::Table, |_| false).unwrap();
        bencher
            .counter(ItemsCount::new(100_u32))
            .bench(|| batch::decode(&head, &address, ApiVersion::V2019_02_02, black_box(body)).is_ok());
    }
}
