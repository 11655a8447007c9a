"""A load balancer that sends every request of every connection to the next server: all must see the same data."""

import itertools
import socket
import socketserver
import threading


class Gone(Exception):
    """The other end closed the connection."""


class Stream:
    """Reads HTTP messages from a socket as bytes, without interpreting them."""

    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def more(self):
        piece = self.connection.recv(65536)
        if not piece:
            raise Gone
        self.buffer += piece

    def until(self, end):
        while end not in self.buffer:
            self.more()
        return self.take(self.buffer.index(end) + len(end))

    def take(self, count):
        while len(self.buffer) < count:
            self.more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def chunks(self):
        body = b""
        while True:
            line = self.until(b"\r\n")
            size = int(line.split(b";")[0], 16)
            body += line + self.take(size) + (self.until(b"\r\n") if size else b"")
            if size == 0:
                while True:
                    trailer = self.until(b"\r\n")
                    body += trailer
                    if trailer == b"\r\n":
                        return body

    def body(self, head):
        fields = {line.split(b":", 1)[0].strip().lower(): line.split(b":", 1)[1].strip()
                  for line in head.split(b"\r\n")[1:] if b":" in line}
        if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            return fields, self.chunks()
        return fields, self.take(int(fields.get(b"content-length", b"0") or b"0"))


class Turns:
    """The next server, for any number of threads."""

    def __init__(self, addresses):
        self.lock, self.addresses = threading.Lock(), itertools.cycle(addresses)

    def __next__(self):
        with self.lock:
            return next(self.addresses)


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client, servers = Stream(self.request), {}
        try:
            while self.exchange(client, servers):
                pass
        except (Gone, OSError, ValueError):
            pass
        finally:
            for stream in servers.values():
                stream.connection.close()

    def exchange(self, client, servers):
        head = client.until(b"\r\n\r\n")
        address = next(self.server.turns)
        if address not in servers:
            servers[address] = Stream(socket.create_connection(address))
            servers[address].connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = servers[address]
        if b"100-continue" in head.lower():
            server.connection.sendall(head)
            response = server.until(b"\r\n\r\n")
            if response.split(b" ", 2)[1] == b"100":
                self.request.sendall(response)
                fields, body = client.body(head)
                server.connection.sendall(body)
                response = server.until(b"\r\n\r\n")
            else:
                # Rejected before the body: it is unknown whether it still comes.
                fields = {b"connection": b"close"}
        else:
            fields, body = client.body(head)
            server.connection.sendall(head + body)
            response = server.until(b"\r\n\r\n")
        status = response.split(b" ", 2)[1]
        if head.startswith(b"HEAD ") or status in (b"204", b"304"):
            response_fields, content = {}, b""
        else:
            response_fields, content = server.body(response)
        self.request.sendall(response + content)
        closes = [field.get(b"connection", b"").lower() for field in (fields, response_fields)]
        if b"connection: close" in response.lower() or b"close" in closes:
            servers.pop(address).connection.close()
            return b"close" not in closes[0] and b"connection: close" not in response.lower()
        return True


class Balancer(socketserver.ThreadingTCPServer):
    """Runs in the background from its construction to its close."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, addresses):
        super().__init__(("127.0.0.1", 0), Handler)
        self.turns = Turns(addresses)
        self.host, self.port = self.server_address
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
