//! The plans of filters, as [`lazuli_filter::Plan`] prints them: the class, the ranges, and the residual.

use lazuli_filter::{Class, Plan, PlanBound, PlanPosition, PlanRange, RANGES_MAX, Schema, parse, plan};

use crate::entity::Entity;
use crate::naive;

fn planned(filter: &str) -> Plan {
    plan(&parse(filter, Schema::Entity).unwrap_or_else(|error| panic!("{filter}: {error}")))
}

#[track_caller]
fn check(filter: &str, expected: &str) {
    assert_eq!(planned(filter).to_string(), expected, "{filter}");
}

/// QY-13.
#[test]
fn points() {
    check("PartitionKey eq 'a' and RowKey eq '1'", "point ['a','1']");
    check("RowKey eq '1' and PartitionKey eq 'a'", "point ['a','1']");
    check("('a' eq PartitionKey) and (('1' eq RowKey))", "point ['a','1']");
    check("PartitionKey eq '' and RowKey eq ''", "point ['','']");
    check("PartitionKey eq 'a' and RowKey eq '1' and Age gt 3", "point ['a','1'] keep Age gt 3");
    check("PartitionKey ge 'a' and PartitionKey le 'a' and RowKey eq '1'", "point ['a','1']");
    check("not (PartitionKey ne 'a' or RowKey ne '1')", "point ['a','1']");
}

/// QY-17.
#[test]
fn several_points() {
    check("PartitionKey eq 'a' and (RowKey eq '1' or RowKey eq '2')", "multi-point ['a','1'] ['a','2']");
    check(
        "PartitionKey eq 'a' and (RowKey eq '2' or RowKey eq '1' or RowKey eq '2')",
        "multi-point ['a','1'] ['a','2']",
    );
    check(
        "(PartitionKey eq 'b' and RowKey eq '2') or (PartitionKey eq 'a' and RowKey eq '1')",
        "multi-point ['a','1'] ['b','2']",
    );
    check(
        "(PartitionKey eq 'a' or PartitionKey eq 'b') and (RowKey eq '1' or RowKey eq '2')",
        "multi-point ['a','1'] ['a','2'] ['b','1'] ['b','2']",
    );
    check(
        "RowKey eq '1' and (PartitionKey eq 'a' or PartitionKey eq 'b')",
        "multi-point ['a','1'] ['b','1']",
    );
    check(
        "PartitionKey eq 'a' and (RowKey eq '1' or RowKey eq '2') and Age gt 3",
        "multi-point ['a','1'] ['a','2'] keep Age gt 3",
    );
    check(
        "(PartitionKey eq 'a' and RowKey eq '1' and Age gt 3) or (PartitionKey eq 'b' and RowKey eq '2')",
        "multi-point ['a','1'] ['b','2'] keep (PartitionKey eq 'a' and Age gt 3) or PartitionKey eq 'b'",
    );
}

/// QY-12, QY-14.
#[test]
fn row_ranges() {
    check("PartitionKey eq 'a' and RowKey ge '1' and RowKey lt '3'", "row-range ['a','1' .. 'a','3')");
    check("PartitionKey eq 'a' and RowKey gt '1' and RowKey le '3'", "row-range ('a','1' .. 'a','3']");
    check("PartitionKey eq 'a' and RowKey ge '1'", "row-range ['a','1' .. 'a']");
    check("PartitionKey eq 'a' and RowKey lt '1'", "row-range ['a' .. 'a','1')");
    check("PartitionKey eq 'a' and RowKey ne '1'", "row-range ['a' .. 'a','1') ('a','1' .. 'a']");
    check("PartitionKey eq 'a' and not (RowKey lt '1')", "row-range ['a','1' .. 'a']");
    check(
        "PartitionKey eq 'a' and (RowKey lt '1' or RowKey eq '5' or RowKey ge '7')",
        "row-range ['a' .. 'a','1') ['a','5'] ['a','7' .. 'a']",
    );
    check(
        "PartitionKey eq 'a' and RowKey ge 'x' and C eq false and D gt 60L",
        "row-range ['a','x' .. 'a'] keep C eq false and D gt 60L",
    );
    check("PartitionKey eq 'a' and (RowKey ge '1' or RowKey lt '3')", "partition ['a']");
    check(
        "PartitionKey eq 'a' and (RowKey ge '1' and RowKey lt '3' or RowKey ge '2' and RowKey lt '5')",
        "row-range ['a','1' .. 'a','5')",
    );
    check(
        "PartitionKey eq 'a' and (RowKey lt '3' or RowKey ge '3' and RowKey lt '5')",
        "row-range ['a' .. 'a','5')",
    );
}

/// QY-15.
#[test]
fn partitions() {
    check("PartitionKey eq 'a'", "partition ['a']");
    check("PartitionKey eq 'a' and Age gt 30", "partition ['a'] keep Age gt 30");
    check(
        "PartitionKey eq 'a' and (Age gt 30 or RowKey eq '1')",
        "partition ['a'] keep Age gt 30 or RowKey eq '1'",
    );
    check("PartitionKey eq 'a' or PartitionKey eq 'b'", "partition ['a'] ['b']");
    check("(PartitionKey eq 'a' or PartitionKey eq 'b') and Flag", "partition ['a'] ['b'] keep Flag");
    check("PartitionKey eq 'a' or (PartitionKey eq 'b' and RowKey eq '1')", "partition ['a'] ['b','1']");
    check("PartitionKey eq 'a' and not (Age gt 30)", "partition ['a'] keep not (Age gt 30)");
    check(
        "PartitionKey eq 'a' and Timestamp ge datetime'2020-01-01'",
        "partition ['a'] keep Timestamp ge datetime'2020-01-01T00:00:00Z'",
    );
}

/// QY-12, QY-18.
#[test]
fn partition_ranges() {
    check("PartitionKey ge 'PDC' and PartitionKey lt 'PDD'", "partition-range ['PDC' .. 'PDD')");
    check("PartitionKey gt 'a' and PartitionKey le 'c'", "partition-range ('a' .. 'c']");
    check("PartitionKey ge 'b'", "partition-range ['b' ..)");
    check("PartitionKey lt 'b'", "partition-range (.. 'b')");
    check("PartitionKey le 'b'", "partition-range (.. 'b']");
    check("not (PartitionKey lt 'Part2')", "partition-range ['Part2' ..)");
    check("PartitionKey gt 'a' and Age eq 1", "partition-range ('a' ..) keep Age eq 1");
    check(
        "((PartitionKey gt 'dev_') and (PartitionKey le 'dev`')) and ((PartitionKey gt 'dev_C') and (PartitionKey le 'dev_E'))",
        "partition-range ('dev_C' .. 'dev_E']",
    );
    // Rows with the same key in many partitions are not adjacent; only the ends can be cut off.
    check("PartitionKey ge 'a' and RowKey eq '1'", "partition-range ['a','1' ..) keep RowKey eq '1'");
    check("PartitionKey gt 'a' and RowKey ge '1'", "partition-range ('a' ..) keep RowKey ge '1'");
    check(
        "PartitionKey ge 'a' and PartitionKey le 'c' and RowKey ge '1' and RowKey lt '3'",
        "partition-range ['a','1' .. 'c','3') keep RowKey ge '1' and RowKey lt '3'",
    );
    check("PartitionKey lt 'b' or (PartitionKey eq 'b' and RowKey le '5')", "partition-range (.. 'b','5']");
    check("PartitionKey gt 'b' or (PartitionKey eq 'b' and RowKey gt '5')", "partition-range ('b','5' ..)");
}

/// QY-16.
#[test]
fn tables() {
    check("Age gt 30", "table (..) keep Age gt 30");
    check("RowKey eq '1'", "table (..) keep RowKey eq '1'");
    check("RowKey ge '1' and RowKey lt '3'", "table (..) keep RowKey ge '1' and RowKey lt '3'");
    check("PartitionKey eq 'a' or Age gt 30", "table (..) keep PartitionKey eq 'a' or Age gt 30");
    check("PartitionKey eq 'a' or RowKey eq '1'", "table (..) keep PartitionKey eq 'a' or RowKey eq '1'");
    check("PartitionKey ne 'a'", "table (.. 'a') ('a' ..)");
    check("PartitionKey ge ''", "table (..)");
    check("PartitionKey lt 'a' or PartitionKey ge 'a'", "table (..)");
    check("true", "table (..)");
    check("true or Age gt 3", "table (..)");
    check("true and Age gt 3", "table (..) keep Age gt 3");
    check("not (Age gt 3 or Flag)", "table (..) keep not (Age gt 3) and not (Flag)");
    check("not (not (Age gt 3))", "table (..) keep Age gt 3");
}

/// A contradiction reads nothing.
#[test]
fn contradictions() {
    for filter in [
        "PartitionKey eq 'a' and PartitionKey eq 'b'",
        "PartitionKey gt 'b' and PartitionKey lt 'a'",
        "PartitionKey gt 'a' and PartitionKey le 'a'",
        "PartitionKey eq 'a' and RowKey eq '1' and RowKey eq '2'",
        "RowKey eq '1' and RowKey ne '1'",
        "PartitionKey eq 'a' and not (PartitionKey eq 'a')",
        "PartitionKey lt ''",
        "RowKey lt ''",
        "(PartitionKey eq 'a' and Age gt 3) and (PartitionKey eq 'b' or RowKey lt '')",
        "false",
        "not true",
        "Age gt 3 and false",
        "Age eq 3 and Age eq 4",
        "Age gt 3 and Flag and Age le 3",
        "Age gt 3 and Age lt 2",
        "Age eq 3 and Age eq '3'",
        "Age eq 3L and Age gt 2.5",
        "(Age eq 3 and Age ne 3) or (PartitionKey eq 'a' and Name eq 'x' and Name gt 'y')",
        "PartitionKey eq 'a' and Timestamp gt datetime'2021-01-01' and Timestamp lt datetime'2020-01-01'",
    ] {
        check(filter, "nothing");
    }
    for filter in [
        "Age ge 3 and Age le 3",
        "Age eq 3 and Age eq 3L",
        "Age eq 1 and Age gt 0.5",
        "Age ne 1 and Age ne 2",
    ] {
        check(filter, &format!("table (..) keep {filter}"));
    }
    check("PartitionKey eq 'a' and (Age eq 3 and Age eq 4 or RowKey eq '1')", "point ['a','1']");
}

/// Conditions that the ranges imply are not evaluated again, however they are written.
#[test]
fn residuals_are_small() {
    check(
        "PartitionKey ge 'a' and PartitionKey lt 'c' and RowKey eq 'x' and Age gt 3",
        "partition-range ['a','x' .. 'c') keep RowKey eq 'x' and Age gt 3",
    );
    check("PartitionKey eq 'a' and (PartitionKey eq 'a' or Age gt 3)", "partition ['a']");
    check("PartitionKey eq 'a' and (PartitionKey eq 'b' or Age gt 3)", "partition ['a'] keep Age gt 3");
    check("PartitionKey eq 'a' and (RowKey ge '1' and Age gt 3)", "row-range ['a','1' .. 'a'] keep Age gt 3");
    check(
        "(PartitionKey eq 'a' and Age gt 3) or (PartitionKey eq 'a' and Age lt 1)",
        "partition ['a'] keep Age gt 3 or Age lt 1",
    );
    check(
        "PartitionKey eq 'a' and RowKey ge '5' and (RowKey lt '5' or Age gt 3)",
        "row-range ['a','5' .. 'a'] keep Age gt 3",
    );
    check(
        "(true and RowKey eq 's') and ((false or PartitionKey eq 'x') or PartitionKey eq 'y')",
        "multi-point ['x','s'] ['y','s']",
    );
}

/// The order is that of UTF-16 code units: characters that need two of them come before U+E000.
#[test]
fn ranges_follow_the_order_of_keys() {
    check("PartitionKey gt '\u{ffff}' and PartitionKey lt '\u{10000}'", "nothing");
    check(
        "PartitionKey gt '\u{10000}' and PartitionKey lt '\u{ffff}'",
        "partition-range ('\u{10000}' .. '\u{ffff}')",
    );
    check("PartitionKey eq 'p' and RowKey gt '\u{e000}' and RowKey lt '\u{10ffff}'", "nothing");
}

fn any_of(name: &str, count: usize) -> String {
    let terms: Vec<String> = (0..count).map(|index| format!("{name} eq '{index:03}'")).collect();
    format!("({})", terms.join(" or "))
}

/// More points than a plan may have become ranges around them.
#[test]
fn too_many_ranges_are_joined() {
    let at_limit = planned(&format!("PartitionKey eq 'a' and {}", any_of("RowKey", RANGES_MAX - 1)));
    assert_eq!(
        (at_limit.ranges.len(), at_limit.class, at_limit.residual),
        (RANGES_MAX - 1, Class::MultiPoint, None)
    );
    for (partitions, rows) in [(30, 30), (250, 250), (2, 500), (500, 2)] {
        let plan = planned(&format!("{} and {}", any_of("PartitionKey", partitions), any_of("RowKey", rows)));
        assert!(plan.ranges.len() <= RANGES_MAX);
        assert!(plan.residual.is_some());
        for (partition, row) in
            [(0, 0), (partitions - 1, rows - 1), (partitions / 2, rows / 2), (0, rows - 1)]
        {
            let holds = |range: &PlanRange| range.contains(&format!("{partition:03}"), &format!("{row:03}"));
            assert_eq!(plan.ranges.iter().filter(|range| holds(range)).count(), 1);
        }
        assert!(!plan.ranges.iter().any(|range| range.contains("zzz", "000")));
        assert!(!plan.ranges.iter().any(|range| range.contains("", "")));
    }
}

/// When the description of the read becomes coarse, conditions that it no longer implies are evaluated.
#[test]
fn coarse_regions_imply_nothing() {
    let product = format!("{} and {}", any_of("PartitionKey", 255), any_of("RowKey", 250));
    for (row, wanted) in [("005", true), ("0055", false)] {
        let key = format!("PartitionKey eq '200' and RowKey eq '{row}'");
        let filter = format!("{key} and ({product} or PartitionKey eq 'z')");
        let plan = planned(&filter);
        let entity = Entity { partition: "200".into(), row: row.into(), ..Entity::with(&[]) };
        let kept = plan.residual.as_ref().is_none_or(|rest| naive::wants(rest, &entity));
        assert_eq!(kept && !plan.ranges.is_empty(), wanted, "{row}");
    }
}

#[test]
fn windows() {
    let place = |partition: &str, row: &str| PlanPosition { partition: partition.into(), row: row.into() };
    let from = PlanRange { start: PlanBound::Included(place("b", "2")), end: PlanBound::Open };
    #[track_caller]
    fn check_window(filter: &str, window: &PlanRange, expected: &str) {
        let mut plan = planned(filter);
        plan.narrow(window);
        assert_eq!(plan.to_string(), expected);
    }
    check_window("PartitionKey ge 'a'", &from, "partition-range ['b','2' ..)");
    check_window("PartitionKey eq 'a' or PartitionKey eq 'b'", &from, "partition ['b','2' .. 'b']");
    check_window("PartitionKey eq 'a' or PartitionKey eq 'c'", &from, "partition ['c']");
    check_window("PartitionKey eq 'a'", &from, "partition");
    check_window("PartitionKey eq 'b' and RowKey eq '2'", &from, "point ['b','2']");
    let until = PlanRange { start: PlanBound::Open, end: PlanBound::AfterPartition("b".into()) };
    check_window("PartitionKey ge 'a'", &until, "partition-range ['a' .. 'b']");
    check_window("PartitionKey gt 'b'", &until, "partition-range");
    let mut everything = Plan::everything();
    assert_eq!(everything.to_string(), "table (..)");
    everything.narrow(&PlanRange {
        start: PlanBound::AfterPartition("a".into()),
        end: PlanBound::Excluded(place("b", "1")),
    });
    assert_eq!(everything.to_string(), "table ('a' .. 'b','1')");
}

#[test]
fn classes_have_names() {
    let names: Vec<_> = Class::ALL.iter().map(|class| class.name()).collect();
    assert_eq!(
        names,
        ["nothing", "point", "multi-point", "row-range", "partition", "partition-range", "table"]
    );
}

/// A filter that is too expensive to plan exactly still finds exactly the matching rows.
#[test]
fn coarse_plans_find_exactly_the_matching_rows() {
    let any = |name: &str| (0..64).map(|i| format!("{name} eq '{i:02}'")).collect::<Vec<_>>().join(" or ");
    let holes: Vec<String> =
        (0..190).map(|i| format!("(RowKey ne '{:02}' or PartitionKey ne '{:02}')", i % 64, i / 3)).collect();
    let text = format!("({}) and ({}) and {}", any("PartitionKey"), any("RowKey"), holes.join(" and "));
    let filter = parse(&text, Schema::Entity).unwrap();
    let plan = plan(&filter);
    for partition in 0..66 {
        for row in 0..66 {
            let mut entity = Entity::with(&[]);
            (entity.partition, entity.row) = (format!("{partition:02}"), format!("{row:02}"));
            let read = plan.ranges.iter().any(|range| range.contains(&entity.partition, &entity.row));
            let kept = read && plan.residual.as_ref().is_none_or(|rest| naive::wants(rest, &entity));
            assert_eq!(kept, naive::wants(&filter, &entity), "{partition} {row}");
        }
    }
}
