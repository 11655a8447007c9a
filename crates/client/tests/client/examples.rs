//! The examples, each run to its end on each service: they assert what they show.

use crate::support::cases;

#[path = "../../examples/guitar_store.rs"]
mod guitar_store;
#[path = "../../examples/micro_blog.rs"]
mod micro_blog;
#[path = "../../examples/patterns/main.rs"]
mod patterns;

cases! {
    /// GS-01 to GS-07, LA-01 to LA-16, LA-21 to LA-30.
    async fn guitar_store(setting: Setting) {
        guitar_store::run(&setting.service).await.unwrap();
    }

    /// MB-01 to MB-04, MB-06 to MB-12.
    async fn micro_blog(setting: Setting) {
        micro_blog::run(&setting.service).await.unwrap();
    }

    /// GD-01 to GD-08, PT-01, PT-02, PT-07, PT-09 to PT-15, PT-17, PT-19 to PT-24, SA-05.
    async fn patterns(setting: Setting) {
        patterns::run(&setting.service).await.unwrap();
    }
}
