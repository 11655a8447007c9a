"""A TCP proxy for HTTP/1.1 servers that misbehaves on demand: slow, silent, failing, cutting connections."""

import re
import socket
import socketserver
import threading
import time

# Bytes of a body that pass before a cut.
CUT_AFTER = 100_000


class Faults:
    """The faults that the proxy injects into requests, from now on. Any thread may change them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.clear()

    def clear(self):
        """Requests pass."""
        self.set()

    def set(self, status=None, methods=None, cut=None, delay=0.0, is_silent=False, count=None):
        """`status`: respond with it. `cut`: break the connection within the "request" or the "response", or when the response is
        there ("lost"). `delay`: seconds before a request passes. `is_silent`: never respond. Only for these methods, and for this number of requests."""
        with self.lock:
            self.status, self.methods, self.cut, self.delay, self.is_silent = status, methods, cut, delay, is_silent
            self.left = count
            self.hits = 0

    def take(self, method):
        """The faults for one request: status, cut, delay, is_silent."""
        with self.lock:
            if (self.methods and method not in self.methods) or self.left == 0:
                return None, None, 0.0, False
            if any((self.status, self.cut, self.delay, self.is_silent)):
                self.hits += 1
                self.left = None if self.left is None else self.left - 1
            return self.status, self.cut, self.delay, self.is_silent


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.upstream, self.buffer = None, b""
        try:
            while self.exchange():
                pass
        except (OSError, ValueError, EOFError):
            pass
        finally:
            if self.upstream:
                self.upstream.close()

    def head(self, connection, buffer):
        while b"\r\n\r\n" not in buffer:
            piece = connection.recv(65536)
            if not piece:
                raise EOFError
            buffer += piece
        head, rest = buffer.split(b"\r\n\r\n", 1)
        return head + b"\r\n\r\n", rest

    @staticmethod
    def length(head):
        found = re.search(rb"\r\ncontent-length:\s*(\d+)", head, re.I)
        return int(found[1]) if found else 0

    def copy(self, source, target, buffer, count, cut_after=None):
        """Passes `count` bytes of a body on; the rest of what was read is returned."""
        passed = 0
        while True:
            now, buffer = buffer[:count - passed], buffer[count - passed:]
            if cut_after is not None and passed + len(now) >= cut_after:
                target.sendall(now[:cut_after - passed])
                raise EOFError
            if target and now:
                target.sendall(now)
            passed += len(now)
            if passed == count:
                return buffer
            buffer = source.recv(65536)
            if not buffer:
                raise EOFError

    def exchange(self):
        head, self.buffer = self.head(self.request, self.buffer)
        method = head.split(b" ", 1)[0].decode()
        status, cut, delay, is_silent = self.server.faults.take(method)
        if is_silent:
            self.server.closing.wait()
            raise EOFError
        if delay:
            time.sleep(delay)
        if status:
            self.buffer = self.copy(self.request, None, self.buffer, self.length(head))
            body = b"<Error><Code>SlowDown</Code></Error>"
            self.request.sendall(b"HTTP/1.1 %d Fault\r\nContent-Length: %d\r\n\r\n" % (status, 0 if method == "HEAD" else len(body))
                                 + (b"" if method == "HEAD" else body))
            return True
        if self.upstream is None:
            self.upstream = socket.create_connection(self.server.target)
            self.upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.upstream.sendall(head)
        half = self.length(head) // 2
        is_cut = cut == "request" and half > 0
        self.buffer = self.copy(self.request, self.upstream, self.buffer, self.length(head), half if is_cut else None)
        response, rest = self.head(self.upstream, b"")
        if cut == "lost":
            # The server has applied it, but the response is lost.
            raise EOFError
        self.request.sendall(response)
        code = int(response.split(b" ", 2)[1])
        if method == "HEAD" or code in (204, 304):
            return True
        if b"chunked" in response.lower():
            while rest or (rest := self.upstream.recv(65536)):
                self.request.sendall(rest)
                if rest.endswith(b"0\r\n\r\n"):
                    return True
                rest = b""
            raise EOFError
        half = self.length(response) // 2
        is_cut = cut == "response" and half > 0
        if self.copy(self.upstream, self.request, rest, self.length(response), min(half, CUT_AFTER) if is_cut else None):
            raise ValueError("the server sent more than one response")
        return True


class FaultProxy(socketserver.ThreadingTCPServer):
    """Runs in the background from its construction to its close."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host, port, own="127.0.0.1"):
        super().__init__((own, 0), Handler)
        self.target, self.faults, self.closing = (host, port), Faults(), threading.Event()
        self.endpoint = f"http://{own}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.closing.set()
        self.shutdown()
        self.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
