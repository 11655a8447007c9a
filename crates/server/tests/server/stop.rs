//! Stopping: requests in flight are finished, everything else ends.

use std::net::TcpStream;

use crate::support::{Client, Request, Server};

/// A request whose body is yet to come, the connection that it is on, and one that is idle.
fn in_flight(server: &Server) -> (Request, Client, Client) {
    server.create_table("flight");
    let request = Request::insert("flight", "r").with("Expect", "100-continue");
    let mut flying = server.connect();
    flying.send(request.head());
    // The 100 shows that the server has begun with the request.
    assert_eq!(flying.response().status, 100);
    let mut idle = server.connect();
    assert_eq!(idle.ask(&Request::get("/Tables")).status, 200);
    (request, flying, idle)
}

#[test]
fn idle_connections_end_at_once() {
    let mut server = Server::start();
    let mut silent = server.connect();
    let mut idle = server.connect();
    assert_eq!(idle.ask(&Request::get("/Tables")).status, 200);
    let stop = server.begin_stop();
    silent.assert_closed();
    idle.assert_closed();
    server.wait(stop);
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn requests_in_flight_are_finished() {
    let mut server = Server::start();
    let (request, mut flying, mut idle) = in_flight(&server);
    let stop = server.begin_stop();
    idle.assert_closed();
    // New connections are refused while the last request is still in flight.
    while TcpStream::connect(server.address).is_ok() {}
    flying.send(request.body());
    let response = flying.response();
    assert_eq!((response.status, response.closes()), (204, true));
    flying.assert_closed();
    drop(flying);
    server.wait(stop);
}

/// Requests pipelined after the one in flight are not started.
#[test]
fn nothing_new_is_begun() {
    let mut server = Server::start();
    let (request, mut flying, mut idle) = in_flight(&server);
    let stop = server.begin_stop();
    idle.assert_closed();
    flying.send([request.body(), &Request::get("/Tables").bytes().repeat(10)].concat());
    assert_eq!(flying.response().status, 204);
    flying.assert_closed();
    drop(flying);
    server.wait(stop);
}

/// A head that has begun to arrive is read completely and gets a response.
#[test]
fn a_head_on_its_way_is_waited_for() {
    let mut server = Server::start();
    let head = Request::get("/Tables").head();
    let mut late = server.connect();
    assert_eq!(late.ask(&Request::get("/Tables")).status, 200);
    // The first of two pipelined requests gets its response only after both have been read: the server then has the
    // partial head.
    late.send(head.clone() + &head[..20]);
    assert_eq!(late.response().status, 200);
    let mut idle = server.connect();
    assert_eq!(idle.ask(&Request::get("/Tables")).status, 200);
    let stop = server.begin_stop();
    idle.assert_closed();
    late.send(&head[20..]);
    let response = late.response();
    assert_eq!((response.status, response.closes()), (200, true));
    drop(late);
    server.wait(stop);
}
