//! Encodes outcomes as responses: small ones in place, large pages on a thread that serves no connections.

use std::sync::Arc;

use lazuli_model::table::Outcome;
use lazuli_model::table::row::CorruptRow;
use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::table::encode;
use lazuli_protocol::table::response_format::ResponseFormat;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::http::Claim;

/// Maximum stored bytes of a page that is encoded on a thread that serves connections. In the worst case, rows of
/// nothing but floating-point numbers, encoding takes about 15 ns per byte: two milliseconds here, and fifty for the
/// largest possible page.
const INLINE_BYTES_MAX: usize = 128 * 1024;

/// The response to an operation on `table`. A large page keeps its memory claim until it is encoded, even if the request
/// is cancelled. It also waits for an encoding permit, because its response can be many times larger than its rows, and
/// the claim covers only the rows. The wait is short, because the number of pages is limited too.
pub async fn response(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    outcome: Outcome,
    room: Option<Claim>,
    turns: &Arc<Semaphore>,
) -> Result<Response, Failure> {
    if !is_large(&outcome) {
        return encode::outcome(context, wanted, table, &outcome)
            .map_err(|error| unreadable(context, &error));
    }
    let turn = Arc::clone(turns).acquire_owned().await;
    let (owned, wanted, table) = (context.clone(), wanted.clone(), table.to_owned());
    let encoded = spawn_blocking(move || {
        let _held = (room, turn);
        encode::outcome(&owned, &wanted, &table, &outcome)
    });
    match encoded.await {
        Ok(encoded) => encoded.map_err(|error| unreadable(context, &error)),
        Err(error) => {
            tracing::error!(request_id = %context.request_id, %error, "failed to encode a page");
            Err(ErrorCode::InternalError.into())
        }
    }
}

/// The failure for a stored row that cannot be read.
pub fn unreadable(context: &Context, corrupt: &CorruptRow) -> Failure {
    tracing::error!(request_id = %context.request_id, error = %corrupt, "failed to read a stored row");
    ErrorCode::InternalError.into()
}

fn is_large(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Page(page) if page.stored_bytes() > INLINE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use lazuli_model::table::operation::{EntityPage, StoredEntity};
    use lazuli_model::{DateTime, PackedRow, Properties};
    use lazuli_protocol::ApiVersion;
    use lazuli_protocol::http::url::Base;
    use tokio::time::timeout;

    use super::*;
    use crate::http::Budget;
    use crate::memory::PAGE_BYTES;

    fn page(rows: usize) -> Outcome {
        let stored = |number: usize| StoredEntity {
            partition: "p".repeat(500).into(),
            row: format!("{number:012}").into(),
            timestamp: DateTime::STORABLE_MIN,
            properties: PackedRow::pack(&Properties::default()),
        };
        Outcome::Page(EntityPage { rows: (0..rows).map(stored).collect(), ..EntityPage::default() })
    }

    fn context() -> Context {
        Context {
            account: "account".into(),
            base: Base::default(),
            now: DateTime::STORABLE_MIN,
            request_id: "id".into(),
            version: ApiVersion::V2019_02_02,
        }
    }

    #[test]
    fn only_large_pages_leave_the_thread() {
        for (outcome, expected) in
            [(Outcome::Stats, false), (page(0), false), (page(200), false), (page(300), true)]
        {
            assert_eq!(is_large(&outcome), expected);
        }
    }

    #[tokio::test]
    async fn responses_are_the_same_on_either_thread_and_give_their_memory_back() {
        let (memory, turns) = (Budget::new(PAGE_BYTES), Arc::new(Semaphore::new(1)));
        let (context, wanted) = (context(), ResponseFormat::fallback(ApiVersion::V2019_02_02));
        for rows in [3, 1000] {
            let room = memory.claim(PAGE_BYTES).unwrap();
            let response =
                response(&context, &wanted, "Table", page(rows), Some(room), &turns).await.unwrap();
            let expected = encode::outcome(&context, &wanted, "Table", &page(rows)).unwrap();
            assert_eq!((response.status, response.body), (expected.status, expected.body));
            assert_eq!((memory.has_room(PAGE_BYTES), turns.available_permits()), (true, 1));
        }
    }

    /// The clock is stopped while a page is encoded, so a page times out only if it has to wait for a permit.
    #[tokio::test(start_paused = true)]
    async fn large_pages_are_encoded_in_turn_and_small_ones_at_once() {
        let turns = Arc::new(Semaphore::new(1));
        let (context, wanted) = (context(), ResponseFormat::fallback(ApiVersion::V2019_02_02));
        let turn = Arc::clone(&turns).try_acquire_owned().unwrap();
        let small = response(&context, &wanted, "Table", page(3), None, &turns).await.unwrap();
        let mut large = pin!(response(&context, &wanted, "Table", page(1000), None, &turns));
        assert!(timeout(Duration::from_secs(60), &mut large).await.is_err());
        drop(turn);
        assert_eq!((small.status, large.await.unwrap().status), (200, 200));
    }
}
