//! The examples, each run to its end on each service: they assert what they show.

use crate::support::cases;

#[path = "../../examples/guitar_store.rs"]
mod guitar_store;
#[path = "../../examples/micro_blog.rs"]
mod micro_blog;
#[path = "../../examples/patterns/main.rs"]
mod patterns;
#[path = "../../examples/storage/main.rs"]
mod storage;

/// PT-03 to PT-06, PT-08, PT-09, PT-16, PT-18, CC-10, CS-07, GD-09, QU-07 to QU-09, BL-10, LS-11: on a server of this process,
/// whose clock the example moves.
#[test]
fn storage() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        storage::run(&storage::Storage::here().await.unwrap()).await.unwrap();
    });
}

cases! {
    /// GS-01 to GS-07, LA-01 to LA-16, LA-21 to LA-30.
    async fn guitar_store(setting: Setting) {
        guitar_store::run(&setting.service).await.unwrap();
    }

    /// MB-01 to MB-04, MB-06 to MB-12.
    async fn micro_blog(setting: Setting) {
        micro_blog::run(&setting.service).await.unwrap();
    }

    /// PR-13, GD-01 to GD-08, PT-01, PT-02, PT-07, PT-09 to PT-15, PT-17, PT-19 to PT-24, SA-05.
    async fn patterns(setting: Setting) {
        patterns::run(&setting.service).await.unwrap();
    }
}
