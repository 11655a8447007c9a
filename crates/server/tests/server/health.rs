//! Health checks while the engine hangs.

use std::sync::atomic::Ordering;

use lazuli_server::Limits;
use lazuli_server::config::AdminPort;

use crate::stuck::Stuck;
use crate::support::{Client, HANG, Request, SHORT, Server};

fn health(server: &Server) -> (u16, String) {
    let mut client: Client = server.connect();
    client.send("GET /-/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let response = client.response();
    (response.status, response.text().trim().to_owned())
}

/// Health checks waited forever for the engine.
#[test]
fn a_stalled_engine_does_not_hang_health_checks() {
    let engine = Stuck::new();
    let server = Server::over(engine.clone(), |config| {
        config.limits = Limits { health_time_max: HANG, ..Limits::default() };
        config.admin = AdminPort::Exactly(0);
    });
    assert_eq!(health(&server), (200, "{\"status\":\"ok\"}".into()));
    assert_eq!(server.ask_admin("/healthz", "").status, 200);
    drop(server);
    let server = Server::over(engine.clone(), |config| {
        config.limits = Limits { health_time_max: SHORT, ..Limits::default() };
        config.admin = AdminPort::Exactly(0);
    });
    engine.status.store(true, Ordering::SeqCst);
    assert_eq!(health(&server), (503, "{\"status\":\"stalled\"}".into()));
    for path in ["/healthz", "/readyz"] {
        let response = server.ask_admin(path, "");
        assert_eq!(response.status, 503);
        assert!(response.text().contains("has not responded"), "{}", response.text());
    }
    let metrics = server.ask_admin("/metrics", "");
    assert_eq!(metrics.status, 200);
    assert!(metrics.text().contains("lazuli_engine_takes_writes 0"), "{}", metrics.text());
    assert_eq!(server.connect().ask(&Request::get("/Tables")).status, 200, "only the status hangs");
}
