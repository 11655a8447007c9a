//! The search detects violations by accounts, keys, policies and scans.

use super::record::{AccountChange, MixedCall, MixedOutput, TableAction};
use crate::linear::{self, SearchVerdict, check};

type Event = linear::HistoryEvent<MixedCall>;

fn account(start: u64, end: u64, change: AccountChange, output: MixedOutput) -> Event {
    Event { client: 0, start, end, operation: MixedCall::Account(change), output: Some(output) }
}

fn table(start: u64, end: u64, account: u32, action: TableAction, output: MixedOutput) -> Event {
    let operation = MixedCall::Table { account, table: 0, action };
    Event { client: 0, start, end, operation, output: Some(output) }
}

fn added() -> Event {
    account(0, 1, AccountChange::Add([1, 2]), MixedOutput::Applied)
}

#[track_caller]
fn expect(verdict: SearchVerdict, events: &[Event]) {
    assert_eq!(check(events), verdict, "{events:?}");
}

/// With concurrent rotations, an old key stayed valid.
#[test]
fn keys_that_stay_valid_are_found() {
    let rotated = || account(2, 3, AccountChange::Rotate { slot: 0, key: 3 }, MixedOutput::Applied);
    let used = |start, key, output| account(start, start + 1, AccountChange::Use(key), output);
    expect(
        SearchVerdict::Ordered,
        &[added(), rotated(), used(4, 1, MixedOutput::Denied), used(6, 3, MixedOutput::Applied)],
    );
    expect(SearchVerdict::Impossible, &[added(), rotated(), used(4, 1, MixedOutput::Applied)]);
    expect(SearchVerdict::Impossible, &[added(), rotated(), used(4, 3, MixedOutput::Denied)]);
    expect(SearchVerdict::Impossible, &[added(), rotated(), used(4, 2, MixedOutput::Denied)]);
}

/// Tables that were created during the removal of their account reappeared under its successor.
#[test]
fn tables_that_outlive_their_account_are_found() {
    let removed = || table(4, 5, 1, TableAction::End, MixedOutput::Applied);
    let created = |start, end| table(start, end, 1, TableAction::Create, MixedOutput::Applied);
    let deleted = || table(2, 3, 1, TableAction::Delete, MixedOutput::Applied);
    expect(SearchVerdict::Ordered, &[created(0, 1), deleted(), removed()]);
    expect(SearchVerdict::Impossible, &[created(0, 1), removed()]);
    expect(SearchVerdict::Impossible, &[created(4, 9), removed()]);
    expect(
        SearchVerdict::Impossible,
        &[removed(), table(6, 7, 2, TableAction::List, MixedOutput::Listed(true))],
    );
}

/// A signature is valid only while the policy that it refers to exists.
#[test]
fn policies_that_stay_valid_are_found() {
    let created = || table(0, 1, 1, TableAction::Create, MixedOutput::Applied);
    let set =
        |start, policy| table(start, start + 1, 1, TableAction::SetPolicy(policy), MixedOutput::Applied);
    let used = |start| table(start, start + 1, 1, TableAction::UsePolicy(7), MixedOutput::Applied);
    expect(SearchVerdict::Ordered, &[created(), set(2, Some(7)), used(4), set(6, None)]);
    expect(SearchVerdict::Impossible, &[created(), set(2, Some(7)), set(4, None), used(6)]);
}

/// Each page of a scan is a snapshot.
#[test]
fn pages_of_two_moments_are_found() {
    let created = || table(0, 1, 1, TableAction::Create, MixedOutput::Applied);
    let put =
        |start, row, value| table(start, start + 1, 1, TableAction::Put { row, value }, MixedOutput::Applied);
    let page =
        |rows: &[(usize, u32)]| table(2, 20, 1, TableAction::Page(0), MixedOutput::Rows(rows.to_vec()));
    let writes = || [created(), put(3, 0, 7), put(5, 1, 8), put(7, 0, 9)];
    let with = |page: Event| writes().into_iter().chain([page]).collect::<Vec<_>>();
    expect(SearchVerdict::Ordered, &with(page(&[(0, 7), (1, 8)])));
    expect(SearchVerdict::Impossible, &with(page(&[(1, 8)])));
    expect(SearchVerdict::Impossible, &with(page(&[(0, 9)])));
}
