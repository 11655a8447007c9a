//! Properties that hold for every filter and every entity.

use lazuli_filter::{Matcher, PlanRange, RANGES_MAX, Schema, eval, matches, parse, plan, print};
use lazuli_model::PackedRow;
use lazuli_model::table::filter::Expr;
use lazuli_model::table::row::RowRef;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::entity::Entity;
use crate::generate::{entity, filter, filter_of_anything, filter_of_key, value};
use crate::naive;

/// The number of ranges that contain the entity, and the first of them.
fn ranges_with(ranges: &[PlanRange], entity: &Entity) -> (usize, Option<usize>) {
    let found: Vec<_> =
        (0..ranges.len()).filter(|&index| ranges[index].contains(&entity.partition, &entity.row)).collect();
    (found.len(), found.first().copied())
}

fn sort(entities: &mut [Entity]) {
    let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    entities.sort_by_key(|entity| (units(&entity.partition), units(&entity.row)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// QY-13 to QY-18: no matching entity lies outside of the ranges, and inside them the residual selects exactly the
    /// matching ones.
    #[test]
    fn plans_find_exactly_the_matching_entities(filter in filter(), mut entities in vec(entity(), 1..24)) {
        let plan = plan(&filter);
        sort(&mut entities);
        let mut reached = 0;
        for entity in &entities {
            let wanted = naive::wants(&filter, entity);
            let (count, first) = ranges_with(&plan.ranges, entity);
            prop_assert!(count <= 1, "overlap in {}", plan);
            prop_assert!(!wanted || count == 1, "{:?} is left out by {}", entity, plan);
            let kept = count == 1 && plan.residual.as_ref().is_none_or(|rest| naive::wants(rest, entity));
            prop_assert_eq!(kept, wanted, "{:?} by {}", entity, plan);
            if let Some(first) = first {
                prop_assert!(first >= reached, "not ascending: {}", plan);
                reached = first;
            }
        }
        prop_assert!(plan.ranges.len() <= RANGES_MAX);
    }

    /// QY-18: ranges alone decide a filter on partitions alone.
    #[test]
    fn partition_filters_leave_nothing_to_evaluate(filter in filter_of_key("PartitionKey"), entity in entity()) {
        let plan = plan(&filter);
        prop_assert_eq!(&plan.residual, &None);
        prop_assert_eq!(ranges_with(&plan.ranges, &entity).0 == 1, naive::wants(&filter, &entity), "{}", plan);
    }

    /// QY-14: the same for a filter on rows within a named partition.
    #[test]
    fn row_filters_in_a_partition_leave_nothing_to_evaluate(filter in filter_of_key("RowKey"), mut entity in entity()) {
        let home = parse("PartitionKey eq 'home'", Schema::Entity).unwrap();
        let filter = Expr::And(vec![home, filter]);
        let plan = plan(&filter);
        prop_assert_eq!(&plan.residual, &None);
        for partition in ["home", "away"] {
            entity.partition = partition.into();
            prop_assert_eq!(ranges_with(&plan.ranges, &entity).0 == 1, naive::wants(&filter, &entity), "{}", plan);
        }
    }

    /// QY-08 to QY-10: three evaluators agree, whatever the order of properties in the row.
    #[test]
    fn evaluators_agree(filter in filter(), entities in vec(entity(), 1..8)) {
        let mut matcher = Matcher::new(Some(&filter));
        for entity in &entities {
            let packed = entity.pack();
            let row = entity.view(&packed);
            let wanted = naive::wants(&filter, entity);
            prop_assert_eq!(matches(&filter, &row).unwrap(), wanted);
            prop_assert_eq!(matcher.matches(&row).unwrap(), wanted);
            let negation = Expr::Not(Box::new(filter.clone()));
            prop_assert_eq!(eval(&filter, &row).unwrap() == Some(false), naive::wants(&negation, entity));
        }
    }

    /// QY-08: the positions that a matcher remembers from one row do not change the result for another, whether or not
    /// they have the same layout.
    #[test]
    fn matchers_tell_rows_apart(
        filter in filter(),
        pool in vec(entity(), 1..5),
        values in vec(value(), 1..8),
        picks in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..90),
    ) {
        let mut matcher = Matcher::new(Some(&filter));
        for (pick, other) in picks {
            let mut entity = pick.get(&pool).clone();
            // The same names, perhaps the same type, another length.
            if let Some(last) = entity.properties.last_mut() {
                last.1 = other.get(&values).clone();
            }
            let packed = entity.pack();
            prop_assert_eq!(matcher.matches(&entity.view(&packed)).unwrap(), naive::wants(&filter, &entity));
        }
    }

    /// QY-02: a printed filter parses back to the same filter, and prints the same again.
    #[test]
    fn printed_filters_read_back(filter in prop_oneof![filter(), filter_of_anything()]) {
        let text = print(&filter);
        let read = parse(&text, Schema::Entity).unwrap();
        // NaN differs from itself, but its debug output does not.
        prop_assert_eq!(format!("{read:?}"), format!("{filter:?}"), "{}", text);
        prop_assert_eq!(print(&read), text);
    }

    /// A window removes the rows outside of it, and nothing else.
    #[test]
    fn narrowing_is_intersection(filter in filter(), other in filter_of_key("PartitionKey"), entities in vec(entity(), 1..8)) {
        let windows = plan(&other).ranges;
        for window in &windows {
            let mut narrow = plan(&filter);
            let wide = narrow.clone();
            narrow.narrow(window);
            for entity in &entities {
                let expected = ranges_with(&wide.ranges, entity).0 == 1 && window.contains(&entity.partition, &entity.row);
                prop_assert_eq!(ranges_with(&narrow.ranges, entity).0 == 1, expected);
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _ = parse(&text, Schema::Entity);
        let _ = parse(&text, Schema::Tables);
    }

    /// Texts that are almost filters reach further than noise.
    #[test]
    fn no_soup_of_tokens_panics(tokens in vec(select(TOKENS.to_vec()), 0..24), blank in select(vec![" ", ""])) {
        let text = tokens.join(blank);
        if let Ok(filter) = parse(&text, Schema::Entity) {
            let again = parse(&print(&filter), Schema::Entity).unwrap();
            prop_assert_eq!(format!("{again:?}"), format!("{filter:?}"));
            let _ = plan(&filter).to_string();
        }
    }

    /// Rows that we did not write cause an error or a wrong result, never a panic.
    #[test]
    fn corrupt_rows_never_panic(filter in filter(), entity in entity(), at in any::<usize>(), flip in 1_u8..) {
        let mut bytes = entity.pack().as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if RowRef::new(&bytes).is_ok() {
            let packed = PackedRow::from_bytes(bytes.into()).unwrap();
            let _ = Matcher::new(Some(&filter)).matches(&entity.view(&packed));
            let _ = matches(&filter, &entity.view(&packed));
        }
    }
}

const TOKENS: [&str; 36] = [
    "(",
    ")",
    "(",
    ")",
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "PartitionKey",
    "RowKey",
    "Timestamp",
    "A",
    "Größe",
    "5",
    "-5",
    "5L",
    "1.5",
    "1e3",
    "'x'",
    "''",
    "'",
    "true",
    "null",
    "NaN",
    "-INF",
    "X'00'",
    "guid'x'",
    "datetime'2020-01-01'",
    "add",
    "f(",
    "$it",
];
