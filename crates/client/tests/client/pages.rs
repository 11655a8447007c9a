//! Raw pages of a query, before they are decoded.

use lazuli_client::decode::decode_page;
use lazuli_client::{Continuation, Dynamic, Error, ErrorKind, PageRequest, PageSource, Table};

use crate::support::{Setting, cases, person};

async fn fill(table: &Table, rows: i32) {
    let entities = (0..rows).map(|n| person("p", &format!("{n:04}"), n));
    table.write_all(entities, Default::default(), |_| {}).await.unwrap();
}

fn rows(body: &[u8]) -> Vec<String> {
    decode_page::<Dynamic>(body).unwrap().into_iter().map(|entity| entity.row_key).collect()
}

cases! {
    /// PG-15 to PG-17: pages of a chosen size, joined by continuations that can be stored as text.
    async fn joined_pages_are_the_whole_table(setting: Setting) {
        let table = setting.table().await;
        fill(&table, 120).await;
        let mut request = PageRequest { top: Some(50), ..PageRequest::new(table.table_name().clone()) };
        let mut sizes = Vec::new();
        let mut all = Vec::new();
        loop {
            let page = table.page(request.clone()).await.unwrap();
            let found = rows(&page.body);
            sizes.push(found.len());
            all.extend(found);
            let Some(next) = page.continuation else { break };
            let stored = next.to_string();
            let read: Result<Continuation, Error> = stored.parse();
            request.continuation = Some(read.unwrap());
        }
        sizes.retain(|size| *size > 0);
        assert_eq!(sizes, [50, 50, 20]);
        assert_eq!(all, (0..120).map(|n| format!("{n:04}")).collect::<Vec<_>>());
    }

    /// QY-01: the filter is escaped for the URL; `$select` omits other properties.
    async fn filter_and_select(setting: Setting) {
        let table = setting.table().await;
        table.insert(&Dynamic::new("p", "1").with("City", "O'Hare & Söhne + 100%").unwrap().with("Age", 5).unwrap()).await.unwrap();
        table.insert(&person("p", "2", 6)).await.unwrap();
        let request = PageRequest {
            filter: Some("City eq 'O''Hare & Söhne + 100%' and Age ge 5".into()),
            select: vec!["PartitionKey".into(), "RowKey".into(), "Age".into()],
            ..PageRequest::new(table.table_name().clone())
        };
        let page = table.page(request).await.unwrap();
        let found: Vec<Dynamic> = decode_page(&page.body).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].row_key, "1");
        assert_eq!(found[0].get::<i32>("Age").unwrap(), Some(5));
        assert_eq!(found[0].get::<String>("City").unwrap(), None);
        assert!(page.continuation.is_none());
    }

    /// LA-17: links are read, to an entity or page after page; links to anything else are never sent.
    async fn links_are_read(setting: Setting) {
        let (service, table) = (&setting.service, setting.table().await);
        fill(&table, 5).await;
        table.insert(&person("p", "o'é %", 7)).await.unwrap();
        let (name, endpoint) = (table.name(), service.endpoint().to_string());
        let entity = format!("{name}(PartitionKey='p',RowKey='o''%C3%A9%20%25')");
        for link in [entity.clone(), format!("{endpoint}/{entity}")] {
            let found = service.try_get_by_link::<Dynamic>(&link).await.unwrap().unwrap();
            assert_eq!(found.value.get::<i32>("Age").unwrap(), Some(7), "{link}");
        }
        let missing = format!("{name}(PartitionKey='p',RowKey='none')");
        assert!(service.try_get_by_link::<Dynamic>(&missing).await.unwrap().is_none());

        let mut next = Some(format!("{endpoint}/{name}()?$filter=Age%20le%204&$select=RowKey,Age&$top=2"));
        let mut ages = Vec::new();
        while let Some(link) = next {
            let (rows, behind) = service.page_by_link::<Dynamic>(&link).await.unwrap();
            ages.extend(rows.iter().filter_map(|row| row.get::<i32>("Age").unwrap()));
            next = behind;
        }
        assert_eq!(ages, [0, 1, 2, 3, 4]);

        for foreign in [
            format!("http://elsewhere.example/{name}()"),
            format!("{endpoint}.elsewhere.example/{name}()"),
            format!("{endpoint}Other/{name}()"),
            format!("//elsewhere.example/{name}()"),
            format!("{name}()?comp=acl"),
            format!("{name}()?$top=x"),
            format!("{name}()?sig=s&se=2100"),
            "Tables".to_owned(),
            "$batch".to_owned(),
            String::new(),
        ] {
            let error = service.page_by_link::<Dynamic>(&foreign).await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (ErrorKind::Input, None), "{foreign}");
        }
        assert!(service.page_by_link::<Dynamic>(&entity).await.is_err(), "one entity is not a page");
        assert!(service.try_get_by_link::<Dynamic>(name).await.is_err(), "a page is not an entity");
    }

    /// The service rejects an invalid filter.
    async fn an_invalid_filter_is_rejected(setting: Setting) {
        let table = setting.table().await;
        let request = PageRequest { filter: Some("Age eq".into()), ..PageRequest::new(table.table_name().clone()) };
        let error = table.page(request).await.unwrap_err();
        assert_eq!(error.status(), Some(400), "{error}");
    }

    /// HT-08: partitions are read in parallel; the futures can be sent to other tasks.
    async fn partitions_in_parallel(setting: Setting) {
        let table = setting.table().await;
        let all = ["a", "b", "c", "d"];
        for partition in all {
            let entities = (0..10).map(|n| person(partition, &format!("{n}"), n));
            table.write_all(entities, Default::default(), |_| {}).await.unwrap();
        }
        let tasks = all.map(|partition| {
            let table = table.clone();
            tokio::spawn(async move {
                let filter = Some(format!("PartitionKey eq '{partition}'"));
                let request = PageRequest { filter, ..PageRequest::new(table.table_name().clone()) };
                rows(&table.page(request).await.unwrap().body).len()
            })
        });
        for task in tasks {
            assert_eq!(task.await.unwrap(), 10);
        }
    }
}

/// A Lazuli server reports the cost of a page on request, and only then.
#[test]
fn explanations() {
    crate::support::on_http("explanations", async |setting: Setting| {
        let table = setting.table().await;
        fill(&table, 20).await;
        let mut request = PageRequest {
            filter: Some("PartitionKey eq 'p' and RowKey lt '0010' and Age gt 4".into()),
            explain: true,
            ..PageRequest::new(table.table_name().clone())
        };
        let explain =
            table.page(request.clone()).await.unwrap().explain.expect("an explanation was requested");
        assert_eq!((explain.rows_read, explain.rows_returned), (10, 5), "{explain:?}");
        assert!(!explain.plan.is_empty() && !explain.ranges.is_empty(), "{explain:?}");
        request.explain = false;
        assert_eq!(table.page(request).await.unwrap().explain, None);
    });
}

/// PG-16: text that is not a continuation is rejected.
#[test]
fn continuations_as_text() {
    for (partition, row) in [("1!4!YQ--", Some("1!4!Yg--")), ("a b&c=d%", None), ("", Some(""))] {
        let place = Continuation { partition: partition.into(), row: row.map(str::to_owned) };
        assert_eq!(place.to_string().parse::<Continuation>().unwrap(), place);
    }
    for bad in ["", "x", "NextRowKey=a"] {
        assert!(bad.parse::<Continuation>().is_err(), "{bad}");
    }
}
