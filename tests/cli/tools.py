"""`lazuli conformance` and `lazuli bench`: short runs, their output, and their reports about faulty servers."""

import http.server
import json
import os
import pty
import re
import subprocess
import threading

from common import contains, equal, free_port, run, serve_memory
from lazuli import HANG_SECONDS, KEY, Client


def conformance(binary, directory, *args, code=0):
    found, output, errors = run(binary, directory, "conformance", *args)
    equal(found, code, f"conformance {args}: {output}{errors}")
    return output, errors


def test_conformance_of_lazuli(binary, directory):
    with serve_memory(binary, directory) as server:
        endpoint = f"http://127.0.0.1:{server.port}/devstoreaccount1"
        output, _ = conformance(binary, directory, "--endpoint", endpoint, "--filter", "etags")
        contains(output, "etags/conditions")
        text = f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};TableEndpoint={endpoint};"
        told = json.loads(conformance(binary, directory, "--connection-string", text, "--filter", "etags", "--json")[0])
        assert told, "JSON says something"
        output, _ = conformance(binary, directory, "--endpoint", endpoint, "--filter", "s/c", "--skip", "etags")
        assert "etags/" not in output, output


def test_conformance_of_a_server_that_returns_nonsense(binary, directory):
    class Nonsense(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        do_POST = do_PUT = do_DELETE = do_MERGE = do_PATCH = do_OPTIONS = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nonsense)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}/devstoreaccount1"
        output, _ = conformance(binary, directory, "--endpoint", endpoint, "--filter", "etags/forms", code=1)
        contains(output, "etags/forms")
    finally:
        server.shutdown()
        server.server_close()


def test_conformance_mistakes_are_reported(binary, directory):
    nobody = f"http://127.0.0.1:{free_port()}/devstoreaccount1"
    conformance(binary, directory, "--endpoint", nobody, "--filter", "etags/forms", code=1)
    contains(conformance(binary, directory, "--endpoint", nobody, "--filter", "no such thing", code=1)[1], "no transcript")
    conformance(binary, directory, "--connection-string", "nonsense", code=1)
    contains(conformance(binary, directory, code=2)[1], "--endpoint")


def test_conformance_restores_the_service_properties(binary, directory):
    path = "/?restype=service&comp=properties"
    body = ("<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://example.org</AllowedOrigins><AllowedMethods>GET</AllowedMethods>"
            "<MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders/><AllowedHeaders/></CorsRule></Cors></StorageServiceProperties>")
    with serve_memory(binary, directory) as server, Client(server) as client:
        equal(client.ask("PUT", path, body, {"Content-Type": "application/xml"}).status, 202)
        before = client.ask("GET", path).text
        contains(before, "https://example.org")
        endpoint = f"http://127.0.0.1:{server.port}/devstoreaccount1"
        contains(conformance(binary, directory, "--endpoint", endpoint, "--filter", "properties/")[0], "properties/")
        equal(client.ask("GET", path).text, before)


def test_a_tiny_bench(binary, directory):
    """It measures the server and bare servers, and cleans up."""
    tiny = ["--slice", "0.1", "--rounds", "1", "--entities", "100", "--connections", "2"]
    code, output, errors = run(binary, directory, "bench", "--workload", "get", "--workload", "insert", *tiny,
                               "--location", directory, "--html", "bench.html")
    equal(code, 0, errors)
    contains(output, "get", "insert")
    with open(os.path.join(directory, "bench.html")) as page:
        contains(page.read(), "<table", 'id="insert"', "Reads entities of 1 KB by their keys", "at least 80 %", "at most 1.25 times",
                 "prefers-color-scheme:dark", "width=device-width", "Requests per second", "Memory of Lazuli")
    contains(output, "memory: at most", "goal: CPU 1.25 times")
    code, output, errors = run(binary, directory, "bench", "--workload", "egt", *tiny, "--json")
    equal(code, 0, errors)
    assert json.loads(output), output
    equal(sorted(os.listdir(directory)), ["bench.html"], "nothing else is left")
    equal(run(binary, directory, "bench", "--workload", "nothing")[0], 2)


def test_a_bench_shows_a_progress_bar_on_a_terminal(binary, directory):
    terminal, other_end = pty.openpty()
    command = [binary, "bench", "--workload", "get", "--slice", "0.1", "--rounds", "1", "--entities", "10", "--connections", "2"]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=other_end, text=True)
    os.close(other_end)
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # how a terminal says that the other end is closed
        pass
    output, _ = process.communicate(timeout=HANG_SECONDS)
    os.close(terminal)
    equal(process.returncode, 0, shown)
    lines = re.findall(rb"\[([#.]{20})\] (\d+) of (\d+)  get: ", shown)
    whole = int(lines[0][2])
    equal(sorted({int(done) for _, done, _ in lines}), list(range(whole)))
    assert lines[0][0] == b"." * 20 and b"#" in lines[-1][0], lines
    assert shown.endswith(b"\r\x1b[K") and "[#" not in output, (shown, output)
    contains(output, "get")


def test_a_tiny_bench_of_queues_and_blobs(binary, directory):
    """Each workload is printed when it is finished, with its ratios."""
    tiny = ["--slice", "0.1", "--rounds", "1", "--entities", "50", "--connections", "4", "--deep", "2000", "--stock", "64"]
    workloads = ["queue-put", "queue-get", "queue-delete", "queue-peek", "queue-pairs", "blob-put-4k", "blob-get-4k", "blob-list"]
    chosen = [word for name in workloads for word in ("--workload", name)]
    code, output, errors = run(binary, directory, "bench", *chosen, *tiny)
    equal(code, 0, errors)
    contains(output, *workloads, "lazuli / bare", "lazuli / 64 queues", "goal: rate")
    contains(errors, "queue-put: round 1 of 1, lazuli")
