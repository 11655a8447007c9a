"""The static website and the request logs of one account in the crash tests, and what must be found of them after a crash.

The website serves the pages of `$web` according to the settings of the service: a change of either is applied completely or not at
all. `$logs` contains only whole lines. A line that a client has read stays in the same place. The last lines before a crash may be
missing, but none after a clean stop of the server.
"""

import http.client
import urllib.parse
from typing import NamedTuple
from xml.etree import ElementTree

from blobs import Blob, Blobs
from kept import SITE
from lazuli import HANG_SECONDS, KEY, StorageClient

PAGES = ("index.html", "start.html", "lost.html")
# Index documents of the website, and documents for pages that do not exist; an empty name means none.
INDEXES, ERRORS = ("index.html", "start.html"), ("lost.html", "")
# The key of the settings among the names of pages.
SETTINGS = ""
PAGE_BYTES_MAX = 30_000
# Fields of a line of a log, version 1.0.
LOG_FIELDS = 30
XML = {"Content-Type": "application/xml"}
LOGGING = ("<Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write>"
           "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>")


class Settings(NamedTuple):
    """What the website serves for `/`, and for pages that do not exist."""

    is_enabled: bool
    index: str = ""
    error: str = ""


class Website(Blobs):
    """Operations return False when their outcome is unknown."""

    def __init__(self, index, seed, count=lambda: None):
        super().__init__(index, seed, count)
        self.account, self.container = SITE, "$web"
        self.worlds = [{SETTINGS: Settings(False)}]
        # Lines of each log that a client has read.
        self.logs = {}
        # Responses since then, and the number of lines that there must be.
        self.responses, self.lines_min = 0, 0

    def send(self, *args):
        response = super().send(*args)
        self.responses += response is not None
        return response

    def is_stopped(self):
        """The server was stopped cleanly: every response has its line."""
        self.lines_min = self.lines() + self.responses

    def lines(self):
        return sum(text.count("\n") for text in self.logs.values())

    def client(self, server):
        return StorageClient(server.at("blob"), self.account, KEY)

    def create(self, client):
        path = "/?restype=service&comp=properties"
        body = f"<StorageServiceProperties>{LOGGING}</StorageServiceProperties>"
        if self.send(client, [202], "PUT", path, body, XML) is None:
            return False
        # The request that enables the logs is not in them.
        self.responses = 0
        return super().create(client)

    def each(self):
        """Every operation."""
        return [self.configure, self.publish, self.publish, self.configure, self.publish, self.remove]

    def choose(self):
        return self.random.choices([self.configure, self.publish, self.remove], [3, 5, 2])[0]

    def publish(self, client):
        name = self.random.choice(PAGES)
        page = self.fresh(name, "BlockBlob", self.bytes(self.random.randrange(1, PAGE_BYTES_MAX)))
        return self.change(client, name, page, 201, "PUT", "", page.content, {"x-ms-blob-type": "BlockBlob"}) is not None

    def remove(self, client):
        name = self.random.choice(PAGES)
        if name not in self.worlds[0]:
            return True
        return self.change(client, name, None, 202, "DELETE") is not None

    def configure(self, client):
        before = self.worlds[0][SETTINGS]
        is_on = not before.is_enabled or self.random.random() < 0.8
        after = Settings(is_on, self.random.choice(INDEXES), self.random.choice(ERRORS)) if is_on else Settings(False)
        names = "".join(f"<{element}>{name}</{element}>" for element, name in (
            ("IndexDocument", after.index), ("ErrorDocument404Path", after.error)) if name)
        body = (f"<StorageServiceProperties><StaticWebsite><Enabled>{str(is_on).lower()}</Enabled>{names}</StaticWebsite>"
                "</StorageServiceProperties>")
        before = self.worlds[0]
        self.worlds = [before, before | {SETTINGS: after}]
        if self.send(client, [202], "PUT", "/?restype=service&comp=properties", body, XML) is None:
            return False
        self.worlds = self.worlds[1:]
        return True

    # --- verifying

    def verify(self, server):
        """Compares the possible states with the actual one. The server must be healthy."""
        if not self.is_created:
            return []
        with self.client(server) as client:
            found = self.observe(client)
            if found not in self.worlds:
                return [f"lost: the website has {brief(found)}; wanted {' or '.join(map(brief, self.worlds))}"]
            self.worlds = [found]
            return self.verify_pages(server) + self.verify_logs(client)

    def finish(self, server, _):
        return self.verify(server)

    def read(self, server):
        """Reads all pages while the disk may fail: whatever is returned in full must be right."""
        problems = []
        for path in ("/", *PAGES):
            try:
                found = visit(server, path)
            except (OSError, http.client.HTTPException):
                continue
            wanted = [page_of(world, path) for world in self.worlds]
            if found[0] < 500 and found not in wanted and self.is_created:
                problems.append(f"wrong: the page {path} is {found[0]} with {len(found[1])} bytes")
        return problems

    def observe(self, client):
        """The settings, and the pages in the container."""
        root = ElementTree.fromstring(self.ask(client, "/?restype=service&comp=properties").body.decode("utf-8-sig"))
        of = lambda name: root.findtext("StaticWebsite/" + name) or ""  # noqa: E731
        found = {SETTINGS: Settings(of("Enabled") == "true", of("IndexDocument"), of("ErrorDocument404Path"))}
        page = self.ask(client, f"/{self.container}?restype=container&comp=list")
        for item in ElementTree.fromstring(page.body.decode("utf-8-sig")).iter("Blob"):
            name = item.findtext("Name")
            known = [world[name] for world in self.worlds if name in world]
            content = self.ask(client, f"/{self.container}/{name}").body
            # A page contains no number that identifies it.
            found[name] = next((one for one in known if one.content == content), Blob("BlockBlob", content, 0))
        return found

    def verify_pages(self, server):
        world, problems = self.worlds[0], []
        for path in ("/", *PAGES, "none"):
            found, wanted = visit(server, path), page_of(world, path)
            if found != wanted:
                problems.append(f"wrong: the page {path} is {found[0]} with {len(found[1])} bytes, wanted {wanted[0]} with "
                                f"{len(wanted[1])}; the website has {brief(world)}")
        return problems

    def verify_logs(self, client):
        """Checks that logs have whole lines and a description, and that all earlier lines are still present."""
        page = self.ask(client, "/$logs?restype=container&comp=list&include=metadata")
        problems, found = [], {}
        for item in ElementTree.fromstring(page.body.decode("utf-8-sig")).iter("Blob"):
            name = item.findtext("Name")
            found[name] = text = self.ask(client, f"/$logs/{name}").body.decode()
            lines, times = text.splitlines(), [item.findtext(f"Metadata/{of}Time") for of in ("Start", "End")]
            if not text.endswith("\n") or any(count_fields(line) != LOG_FIELDS for line in lines):
                problems.append(f"torn: the log {name} ends with {text[-300:]!r}")
            elif None in times or item.findtext("Metadata/LogType") is None or times[0] > times[1]:
                problems.append(f"wrong: the log {name} is described by {times}")
        for name, text in self.logs.items():
            if not found.get(name, "").startswith(text):
                problems.append(f"lost: the log {name} had {len(text)} bytes, and now {len(found.get(name, ''))} others")
        self.logs, self.responses = found, 0
        if self.lines() < self.lines_min:
            problems.append(f"lost: the logs have {self.lines()} lines after the server was stopped, wanted {self.lines_min}")
        return problems


def visit(server, path):
    """Status and content of a page, as a browser gets them."""
    place = server.at("blob")
    connection = http.client.HTTPConnection(place.host, place.port, timeout=HANG_SECONDS)
    try:
        target = "/" + urllib.parse.quote(path.lstrip("/"))
        connection.request("GET", target, headers={"Host": f"{SITE}.web.localhost:{place.port}"})
        response = connection.getresponse()
        content = response.read()
        is_page = response.status < 300 or response.headers.get("x-ms-error-code") is None
        return response.status, content if is_page else b""
    finally:
        connection.close()


def page_of(world, path):
    """What the website must serve; an error of the server has no content here."""
    settings = world[SETTINGS]
    content = lambda name: world[name].content if name and name in world else None  # noqa: E731
    if not settings.is_enabled:
        return 404, b""
    page = content(settings.index if path == "/" else path)
    if page is not None:
        return 200, page
    return 404, content(settings.error) or b""


def count_fields(line):
    """Fields of a line of a log. A semicolon within quotes is not a separator."""
    return sum(part.count(";") for part in line.split('"')[::2]) + 1


def brief(world):
    pages = {name: len(page.content) for name, page in sorted(world.items()) if name != SETTINGS}
    return f"{world[SETTINGS]} and pages of {pages} bytes"
