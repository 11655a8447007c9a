//! The files of the console. A test compares the list with the folder `web`.

use crate::File;

/// The page, with placeholders for the names of the other files.
pub const PAGE: &str = include_str!("../web/index.html");

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File { name: $name, bytes: include_bytes!(concat!("../web/", $name)) }),*]
    };
}

/// All other files.
pub const FILES: &[File] = files![
    "app.js",
    "icon.svg",
    "lib/blob.js",
    "lib/blobs.js",
    "lib/bytes.js",
    "lib/client.js",
    "lib/csv.js",
    "lib/dom.js",
    "lib/edm.js",
    "lib/format.js",
    "lib/metrics.js",
    "lib/odata.js",
    "lib/properties.js",
    "lib/queues.js",
    "lib/router.js",
    "lib/sas.js",
    "lib/sha256.js",
    "lib/sign.js",
    "lib/state.js",
    "lib/tables.js",
    "lib/xml.js",
    "pages/account.js",
    "pages/all_policies.js",
    "pages/blob.js",
    "pages/connect.js",
    "pages/container.js",
    "pages/container_actions.js",
    "pages/container_settings.js",
    "pages/containers.js",
    "pages/download.js",
    "pages/entity.js",
    "pages/find_message.js",
    "pages/health.js",
    "pages/plan.js",
    "pages/policies.js",
    "pages/preview.js",
    "pages/query.js",
    "pages/queue.js",
    "pages/queue_actions.js",
    "pages/queues.js",
    "pages/replace.js",
    "pages/sas.js",
    "pages/service_properties.js",
    "pages/snippet.js",
    "pages/table.js",
    "pages/tables.js",
    "pages/transfer.js",
    "pages/upload.js",
    "style/base.css",
    "style/layout.css",
    "style/parts.css",
    "ui/dialog.js",
    "ui/feedback.js",
    "ui/grid.js",
    "ui/live.js",
    "ui/palette.js",
    "ui/parts.js",
    "ui/shell.js",
];
