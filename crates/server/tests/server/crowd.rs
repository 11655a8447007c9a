//! Many clients at once.

use std::io::{Read as _, Write as _};

use lazuli_server::Limits;

use crate::support::{Request, Server};

/// A thousand connections that do nothing, or next to nothing, do not disturb others.
#[test]
fn idle_connections_disturb_nobody() {
    let server = Server::start();
    server.create_table("crowd");
    let starts: [&[u8]; 4] = [b"", b"GET /devstore", b"\r\n", b"POST / HTTP/1.1\r\nContent-Length: 5\r\n"];
    let mut crowd: Vec<_> = (0..1000)
        .map(|index| {
            let mut client = server.connect();
            client.send(starts[index % starts.len()]);
            client
        })
        .collect();
    let mut good = server.connect();
    for row in 0..100 {
        assert_eq!(good.ask(&Request::insert("crowd", &row.to_string())).status, 204);
        server.assert_alive();
    }
    // They have not been forgotten either.
    for idle in crowd.iter_mut().step_by(starts.len()) {
        assert_eq!(idle.ask(&Request::get("/Tables")).status, 200);
    }
}

/// Beyond the limit a new client gets 503 immediately; a connection that closes makes room for the next.
#[test]
fn connections_have_a_maximum_number() {
    let server = Server::with(Limits { connections_max: 10, ..Limits::default() });
    let mut guests: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for guest in &mut guests {
        assert_eq!(guest.ask(&Request::get("/Tables")).status, 200);
    }
    for _ in 0..20 {
        let mut client = server.connect();
        let response = client.ask(&Request::get("/Tables"));
        assert_eq!((response.status, response.code(), response.closes()), (503, "ServerBusy", true));
        client.assert_closed();
    }
    for guest in &mut guests {
        assert_eq!(guest.ask(&Request::get("/Tables")).status, 200);
    }
    guests.pop();
    server.wait_for_a_place();
}

/// Large amounts of meaningless bytes from many clients.
#[test]
fn garbage_disturbs_nobody() {
    let server = Server::start();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..50 {
        let mut garbage: Vec<u8> = (0..20_000).flat_map(|_| random().to_le_bytes()).collect();
        if round % 2 == 0 {
            // Mostly lines, so that it gets further.
            garbage.iter_mut().for_each(|byte| *byte = b"GET /:\r\n HTTP1."[usize::from(*byte) % 15]);
        }
        let mut client = server.connect();
        // The server may close in the middle of it.
        let _ = client.stream.write_all(&garbage);
        let mut heard = Vec::new();
        let _ = client.stream.read_to_end(&mut heard);
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 4"), "{heard}");
    }
    server.assert_alive();
}

/// Good requests with one byte changed anywhere: a response or an end, never a hang, never another request served.
#[test]
fn every_changed_byte_is_survived() {
    let server = Server::start();
    server.create_table("mutants");
    let original = Request::insert("mutants", "r").bytes();
    for at in 0..original.len() {
        for change in [0x01, 0x20, 0x80] {
            let mut bytes = original.clone();
            bytes[at] ^= change;
            let mut client = server.connect();
            client.send(&bytes);
            client.finish();
            let mut heard = Vec::new();
            let _ = client.stream.read_to_end(&mut heard);
            let heard = String::from_utf8_lossy(&heard);
            assert!(
                !heard.starts_with("HTTP/1.1 5") || heard.starts_with("HTTP/1.1 501"),
                "{at} {change}: {heard}"
            );
        }
    }
    server.assert_alive();
}
