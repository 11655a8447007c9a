//! The engine on a PostgreSQL server, which `LAZULI_TEST_POSTGRES` names: `tests/run postgres` starts one.
//!
//! | a test about | belongs in |
//! |---|---|
//! | what every engine does | `lazuli_engine::conformance`, run by `conformance.rs` |
//! | long keys, versions, schemas, several engines on one database | `shared.rs` |
//! | large content | `lazuli_engine::content::conformance`, run by `content.rs` |
//! | copies of content that front ends would free | `hold.rs` |
//! | how rows are found, whatever the statistics | `plans.rs` |
//! | connections that break | `cut.rs`, by the proxy in `proxy.rs` |

mod conformance;
mod content;
mod cut;
mod hold;
mod plans;
mod proxy;
mod shared;
mod support;
