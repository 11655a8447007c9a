//! The numbers of the health page, for callers that hold a key of an account.
//!
//! Counters of the whole server contain no names from other accounts; tables, partitions, queues and queries
//! are those of the caller's own account. Operators who do not want this can turn the console off.

use lazuli_model::{Failure, Service};
use lazuli_protocol::http::query::Query;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::{Head, Response};
use lazuli_service::{Grant, Scope};
use serde_json::{Value, json};

use super::{Console, guard, json_response};
use crate::http::Peer;
use crate::metrics::{self, SlowQuery, View};
use crate::pipeline::Arrival;
use crate::pipeline::finish::{finish, reject};

/// The service whose signature format a request for health uses.
const SIGNED_AS: Service = Service::Blob;
/// The parameter that limits the response to one subject, and its only value.
const ONLY: (&str, &str) = ("only", "queues");

impl Console {
    /// Handles a request for health. `path` names the account.
    pub(super) async fn health(
        &self,
        head: &Head<'_>,
        (path, query): (&str, Option<&str>),
        peer: Peer,
    ) -> Response {
        if head.method != "GET" {
            return guard::plain(405, "only GET");
        }
        let target = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        let fields = super::forwarded(head, "127.0.0.1");
        let head = Head { method: "GET", target: &target, fields: &fields };
        let state = &self.state;
        let mut context = state.context();
        let admitted = self.admit(&head, peer, &mut context).await;
        match admitted {
            Ok(grant) if grant.scope == Scope::Everything => {
                let view = View::Account(&grant.account);
                if query.is_some_and(|query| Query(query).get(ONLY.0).is_some_and(|only| only == ONLY.1)) {
                    return json_response(&json!({ "metrics": metrics::render_only_queues(state, view) }));
                }
                let text = metrics::render(state, view).await;
                let slow = state.metrics.slow().of(&grant.home);
                let slow: Vec<Value> = slow.iter().map(described).collect();
                json_response(&json!({ "metrics": text, "slow": slow }))
            }
            Ok(_) => guard::plain(403, "this page requires a key of the account"),
            Err(failure) => {
                let response = reject(SIGNED_AS, &context, Some(&head), &failure);
                finish(SIGNED_AS, response, &context, &head)
            }
        }
    }

    /// Determines who signed the request, by the same rules as on the data ports.
    async fn admit(&self, head: &Head<'_>, peer: Peer, context: &mut Context) -> Result<Grant, Failure> {
        let state = &self.state;
        state.freshen().await?;
        let address = state.locate(SIGNED_AS, head, peer, context)?;
        let properties = state.properties(SIGNED_AS, address.account).await;
        let arrival = Arrival { head: *head, address, peer };
        let admitted = state.admit(SIGNED_AS, &arrival, &properties, context).await;
        admitted.map_err(|failure| state.not_admitted(failure, state.client_address(head, peer)))
    }
}

fn described(query: &SlowQuery) -> Value {
    json!({
        "at": query.at.to_string(),
        "path": query.path,
        "query": query.query,
        "plan": query.effort.class.name(),
        "ranges": query.effort.ranges,
        "rowsRead": query.effort.rows_read,
        "rowsReturned": query.rows_returned,
        "micros": u64::try_from(query.time.as_micros()).unwrap_or(u64::MAX),
    })
}
