//! Every pair of conditions, for reads, changes and creations, with existing and missing resources.

use super::*;

const CURRENT: ETag = ETag::new(0x8D1);
const OTHER: ETag = ETag::new(0x8D2);

fn second(number: u64) -> DateTime {
    DateTime::from_ticks(number * TICKS_PER_SECOND).unwrap()
}

fn tags(list: &[ETag]) -> Option<ETags> {
    Some(ETags::Listed(list.to_vec()))
}

/// A resource that was changed at second 100, plus a fraction that must be ignored.
fn check(conditions: &Conditions, purpose: Purpose) -> Result<(), Unmet> {
    let last_modified = DateTime::from_ticks(second(100).ticks() + 7).unwrap();
    let stamp = Stamp { etag: CURRENT, last_modified };
    conditions.check(purpose, Some(Facts { stamp, tags: &Tags::default(), holds_lease: false }))
}

/// Each header, once with a value that the resource meets, and once with one that it does not.
fn set(header: usize, is_met: bool, conditions: &mut Conditions) {
    match header {
        0 => conditions.if_match = tags(&[if is_met { CURRENT } else { OTHER }]),
        1 => conditions.if_none_match = tags(&[if is_met { OTHER } else { CURRENT }]),
        2 => conditions.if_modified_since = Some(second(if is_met { 99 } else { 100 })),
        _ => conditions.if_unmodified_since = Some(second(if is_met { 100 } else { 99 })),
    }
}

/// BL-02, BL-04: `If-Match && If-Unmodified-Since && (If-None-Match || If-Modified-Since)`, for all 81 combinations of
/// each header absent, met and unmet.
#[test]
fn reads_combine_everything() {
    for code in 0..81_usize {
        let states: Vec<Option<bool>> =
            (0..4).map(|header| [None, Some(true), Some(false)][code / 3_usize.pow(header) % 3]).collect();
        let mut conditions = Conditions::default();
        for (header, state) in states.iter().enumerate() {
            if let Some(is_met) = state {
                set(header, *is_met, &mut conditions);
            }
        }
        let [matches, none_match, modified, unmodified] = states[..] else { unreachable!() };
        let expected = if matches == Some(false) || unmodified == Some(false) {
            Err(Unmet::Failed)
        } else if none_match != Some(true) && modified != Some(true) && (none_match, modified) != (None, None)
        {
            Err(Unmet::NotModified)
        } else {
            Ok(())
        };
        let conditions = conditions.combined(Combination::Any).unwrap();
        assert_eq!(check(&conditions, Purpose::Read), expected, "{states:?}");
    }
}

/// BL-04: of all pairs of headers, writes accept two, and use only the ETag.
#[test]
fn writes_accept_two_pairs() {
    let both = [true, false];
    for (first, second) in (0..4).flat_map(|first| (first + 1..4).map(move |second| (first, second))) {
        for (first_met, second_met) in both.into_iter().flat_map(|one| both.map(|other| (one, other))) {
            let mut conditions = Conditions::default();
            set(first, first_met, &mut conditions);
            set(second, second_met, &mut conditions);
            let combined = conditions.combined(Combination::One).map_err(|failure| failure.code);
            let case = format!("{first} {first_met}, {second} {second_met}");
            if matches!((first, second), (1, 2) | (0, 3)) {
                let expected = if first_met { Ok(()) } else { Err(Unmet::Failed) };
                assert_eq!(check(&combined.unwrap(), Purpose::Change), expected, "{case}");
            } else {
                assert_eq!(combined, Err(ErrorCode::MultipleConditionHeadersNotSupported), "{case}");
            }
        }
    }
}

/// BL-02, BL-03: each header alone; writes always fail with 412.
#[test]
fn single_conditions() {
    for purpose in [Purpose::Read, Purpose::Change, Purpose::Create] {
        assert_eq!(check(&Conditions::default(), purpose), Ok(()), "BL-03: the last writer wins");
        for header in 0..4 {
            for is_met in [true, false] {
                let mut conditions = Conditions::default();
                set(header, is_met, &mut conditions);
                let unmet = match (purpose, header) {
                    (Purpose::Read, 1 | 2) => Unmet::NotModified,
                    _ => Unmet::Failed,
                };
                let expected = if is_met { Ok(()) } else { Err(unmet) };
                let conditions = conditions.combined(Combination::One).unwrap();
                assert_eq!(check(&conditions, purpose), expected, "{purpose:?} {header} {is_met}");
            }
        }
    }
}

/// The matrix for missing resources.
#[test]
fn absent_resources() {
    for purpose in [Purpose::Read, Purpose::Change, Purpose::Create] {
        for header in 0..4 {
            let mut conditions = Conditions::default();
            set(header, true, &mut conditions);
            let demands = header == 0 && purpose != Purpose::Read;
            let expected = if demands { Err(Unmet::Failed) } else { Ok(()) };
            assert_eq!(conditions.check(purpose, None), expected, "{purpose:?} {header}");
        }
        let any = Conditions { if_match: Some(ETags::Any), ..Conditions::default() };
        let expected = if purpose == Purpose::Read { Ok(()) } else { Err(Unmet::Failed) };
        assert_eq!(any.check(purpose, None), expected, "{purpose:?}");
        let none = Conditions { if_none_match: Some(ETags::Any), ..Conditions::default() };
        assert_eq!(none.check(purpose, None), Ok(()), "{purpose:?}");
    }
}

/// `*`: creating an existing resource is a conflict unless the client holds its lease.
#[test]
fn stars() {
    let any = Conditions { if_match: Some(ETags::Any), ..Conditions::default() };
    let none = Conditions { if_none_match: Some(ETags::Any), ..Conditions::default() };
    for (purpose, expected) in [
        (Purpose::Read, Unmet::NotModified),
        (Purpose::Change, Unmet::Failed),
        (Purpose::Create, Unmet::Exists),
    ] {
        assert_eq!(check(&any, purpose), Ok(()), "{purpose:?}");
        assert_eq!(check(&none, purpose), Err(expected), "{purpose:?}");
    }
    let stamp = Stamp { etag: CURRENT, last_modified: second(1) };
    let holder = Facts { stamp, tags: &Tags::default(), holds_lease: true };
    assert_eq!(none.check(Purpose::Create, Some(holder)), Ok(()));
    assert_eq!(none.check(Purpose::Change, Some(holder)), Err(Unmet::Failed));
}

#[test]
fn lists_and_foreign_tags() {
    let if_match = |list: &[ETag]| Conditions { if_match: tags(list), ..Conditions::default() };
    let none_match = |list: &[ETag]| Conditions { if_none_match: tags(list), ..Conditions::default() };
    assert_eq!(check(&if_match(&[OTHER, CURRENT]), Purpose::Read), Ok(()));
    assert_eq!(check(&if_match(&[]), Purpose::Read), Err(Unmet::Failed), "a foreign tag");
    assert_eq!(check(&none_match(&[OTHER, CURRENT]), Purpose::Read), Err(Unmet::NotModified));
    assert_eq!(check(&none_match(&[]), Purpose::Read), Ok(()), "a foreign tag");
}

#[test]
fn sequence_numbers_and_positions() {
    let sequence = SequenceConditions { at_most: Some(7), less_than: Some(7), equal: None };
    assert!(sequence.met_by(6) && !sequence.met_by(7));
    assert!(SequenceConditions { equal: Some(7), ..SequenceConditions::default() }.met_by(7));
    let append = AppendConditions { position: Some(10), max_size: Some(12) };
    assert_eq!(append.check(10, 2), Ok(()));
    assert_eq!(append.check(9, 2).unwrap_err().code, ErrorCode::AppendPositionConditionNotMet);
    assert_eq!(append.check(10, 3).unwrap_err().code, ErrorCode::MaxBlobSizeConditionNotMet);
}

#[test]
fn conditions_on_the_time_of_the_tier() {
    let modified = |since| TierConditions { if_modified_since: Some(second(since)), ..Default::default() };
    let unmodified =
        |since| TierConditions { if_unmodified_since: Some(second(since)), ..Default::default() };
    let chosen = DateTime::from_ticks(second(100).ticks() + 7);
    for (conditions, chosen, is_met) in [
        (TierConditions::default(), None, true),
        (modified(99), chosen, true),
        (modified(100), chosen, false),
        (modified(99), None, false),
        (unmodified(99), chosen, false),
        (unmodified(100), chosen, true),
        (unmodified(99), None, true),
    ] {
        assert_eq!(conditions.met_by(chosen), is_met, "{conditions:?} {chosen:?}");
    }
}
