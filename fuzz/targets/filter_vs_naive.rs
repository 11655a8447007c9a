//! Filters on rows, made of the input: the matcher, the evaluator and the planner agree with a simple, slow evaluation.

#![no_main]

use lazuli_filter::{EntityRow, Matcher, Schema, eval, matches, parse, plan, print};
use lazuli_fuzz::filter::{Bytes, expression, naive, properties};
use lazuli_model::{DateTime, PackedRow};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut bytes = Bytes(input);
    let filter = expression(&mut bytes, 0);
    let plan = plan(&filter);
    let mut matcher = Matcher::new(Some(&filter));
    let mut residual = Matcher::new(plan.residual.as_ref());
    let printed = print(&filter);
    // Parsing removes redundant brackets, but keeps the meaning.
    let read = parse(&printed, Schema::Entity).ok();
    while !bytes.0.is_empty() {
        let (partition, row) = (bytes.text(), bytes.text());
        let Some(properties) = properties(&mut bytes) else { continue };
        let packed = PackedRow::pack(&properties);
        let properties =
            lazuli_model::table::row::RowRef::new(packed.as_bytes()).expect("a row just packed is whole");
        let stored = EntityRow { partition, row, timestamp: DateTime::STORABLE_MIN, properties };
        let wanted = naive(&filter, &stored);
        if let Some(read) = &read {
            assert_eq!(naive(read, &stored), wanted, "{printed}");
        }
        assert_eq!(eval(&filter, &stored).expect("whole"), wanted, "{printed}");
        assert_eq!(matches(&filter, &stored).expect("whole"), wanted == Some(true), "{printed}");
        assert_eq!(matcher.matches(&stored).expect("whole"), wanted == Some(true), "{printed}");
        let inside = plan.ranges.iter().any(|range| range.contains(partition, row));
        let planned = inside && residual.matches(&stored).expect("whole");
        assert_eq!(planned, wanted == Some(true), "{printed} as {plan:?} on {partition:?} {row:?}");
    }
});
