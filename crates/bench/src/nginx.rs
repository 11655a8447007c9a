//! The configuration of nginx as a limit for reading blobs: plain HTTP, keep-alive, the same file for every
//! name.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Bytes written at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Writes the configuration and the file that is served.
pub fn configure(folder: &Path, port: u16, bytes: u64) -> io::Result<()> {
    let mut file = File::create(folder.join("file"))?;
    let piece = vec![b'x'; usize::try_from(PIECE_BYTES.min(bytes)).unwrap_or(0)];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(PIECE_BYTES);
        file.write_all(&piece[..usize::try_from(length).unwrap_or(0)])?;
        left -= length;
    }
    file.sync_data()?;
    let folder = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("  {name}_temp_path {folder}/{name};\n"))
        .concat();
    std::fs::write(
        format!("{folder}/nginx.conf"),
        format!(
            "daemon off;\nuser root;\nworker_processes auto;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 1000000000;\n{temporary}  server {{\n    listen 127.0.0.1:{port};\n    root {folder};\n    location / {{ rewrite ^ /file break; }}\n  }}\n}}\n"
        ),
    )
}
