//! Query plans of the statements that select rows by arrays of keys. The statements are taken from the source, `sql.rs`.

use lazuli_engine::Clock;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::{client, open, schema, server, url_of, with};

const SOURCE: &str = include_str!("../../src/sql.rs");

/// The rows of the large partition.
const ROWS: usize = 3000;

/// A former bug: without statistics, or with those of many small partitions, PostgreSQL read all rows of a partition for
/// each commit of several rows, and filtered them. All messages of a queue are one partition.
#[tokio::test]
async fn statements_for_several_rows_do_not_read_the_whole_partition() {
    let name = schema().await;
    // Creates the tables. Only this connection uses them afterwards.
    drop(open(url_of(&server(), &name), Clock::system()).await);
    let client = client(&with(&server(), &format!("options=-csearch_path%3D{name}"))).await;
    let statements = statements();
    for (name, text) in &statements {
        run(&client, &format!("PREPARE {name} AS {text}")).await;
    }
    // Statistics are gathered only where this test says so.
    run(&client, "ALTER TABLE lazuli_row SET (autovacuum_enabled = false)").await;
    let fill = format!(
        "INSERT INTO lazuli_row (tbl, pk, rk, ver, val) SELECT 7, '\\x71', int8send(g), 1, repeat('v', 200)::bytea \
         FROM generate_series(1, {ROWS}) AS g"
    );
    run(&client, &fill).await;
    check(&client, &statements, "without statistics").await;
    run(&client, "ANALYZE lazuli_row").await;
    check(&client, &statements, "with statistics").await;
    let small = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val) SELECT g, int8send(g), int8send(g), 1, '\\x76' \
         FROM generate_series(1, 9000) AS g";
    run(&client, &format!("{small}; ANALYZE lazuli_row")).await;
    check(&client, &statements, "with many small partitions").await;
}

/// The statements that name rows by arrays of keys, except those that insert them.
fn statements() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for item in SOURCE.split("\nconst ").skip(1) {
        let (name, rest) = item.split_once(": &str =").expect("a constant is a string literal");
        let text = rest.split('"').nth(1).expect("a text is quoted").replace("\\\n", "");
        if text.contains("[]") && !text.contains("INSERT INTO") {
            found.push((name.to_lowercase(), text));
        }
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| &name[..]).collect();
    for name in [
        "get_some",
        "get_shared",
        "heads",
        "heads_locked",
        "find_version",
        "lock",
        "points",
        "replace",
        "delete",
    ] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    found
}

/// Every statement must find the rows by their whole keys, planned for these keys and planned for any.
async fn check(client: &Client, statements: &[(String, String)], when: &str) {
    let mut wrong = Vec::new();
    for mode in ["force_custom_plan", "force_generic_plan"] {
        run(client, &format!("SET plan_cache_mode = {mode}")).await;
        for (name, text) in statements {
            for count in [1, 2, 10, 100] {
                let plan = run(client, &format!("EXPLAIN EXECUTE {name}({})", arguments(text, count))).await;
                let plan = plan.join("\n");
                if !is_by_key(&plan) {
                    wrong.push(format!("{name} of {count} rows, {mode}:\n{plan}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{when}:\n{}", wrong.join("\n"));
}

/// Does a plan read `lazuli_row`, and only by an index with all three columns?
fn is_by_key(plan: &str) -> bool {
    let nodes: Vec<&str> = plan.split("->").filter(|node| is_read(node)).collect();
    let by_key = |node: &&str| {
        let condition = node.lines().find(|line| line.trim_start().starts_with("Index Cond:")).unwrap_or("");
        ["(tbl = ", "(pk = ", "(rk = "].iter().all(|column| condition.contains(column))
    };
    !nodes.is_empty() && nodes.iter().all(by_key)
}

fn is_read(node: &str) -> bool {
    node.lines().next().is_some_and(|first| first.contains("Scan") && first.contains("lazuli_row"))
}

/// The arguments of a statement, for some rows of the large partition.
fn arguments(text: &str, count: usize) -> String {
    let array = |item: &dyn Fn(usize) -> String| {
        format!("ARRAY[{}]", (0..count).map(|at| item(at * ROWS / count + 1)).collect::<Vec<_>>().join(", "))
    };
    let argument = |number: usize| {
        let (_, rest) = text.split_once(&format!("${number}::"))?;
        Some(match rest.split(|char: char| !char.is_ascii_alphanumeric() && !"[]".contains(char)).next()? {
            "int8" => "7".to_owned(),
            "bytea" => "'\\x71'".to_owned(),
            "int8[]" => array(&|_| "1::int8".to_owned()),
            "bytea[]" => array(&|at| format!("'\\x{at:016x}'::bytea")),
            other => panic!("an argument of type {other}"),
        })
    };
    (1..).map_while(argument).collect::<Vec<_>>().join(", ")
}

/// Runs a statement; the first column of its rows.
async fn run(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let column = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.iter().filter_map(column).collect()
}
