"""The blobs of one client in the crash tests: what it does, and what must be found after a crash.

An acknowledged blob is present completely, with its metadata, tags and snapshots. A change in progress is applied completely or not
at all: an upload, a list of blocks, an append, a write to pages, a copy, a snapshot, a deletion. The index of tags matches the
blobs. A blob that was written with a key of the client or with an encryption scope still has it, and so have its snapshots.

The client owns a container, so it knows its state: after an acknowledgement exactly one, after an unknown outcome one of two. It
stops at the first unknown outcome; the verification on a healthy server shows which it was.
"""

import base64
import hashlib
import http.client
import random
import urllib.parse
from typing import NamedTuple
from xml.etree import ElementTree

from lazuli import StorageClient

# In the row; in a pack, as one piece; in a pack, as several pieces.
SIZES = (0, 300, 20_000, 150_000)
BLOCKS_MAX = 3
APPEND_BYTES_MAX = 40_000
# The client deletes an append blob of this size.
APPENDED_BYTES_MAX = 200_000
PAGE, PAGES = 512, 128
# Names of each type of blob.
NAMES = 3
SNAPSHOTS_MAX = 4
# Blobs with these names, apart from copies, have a key of the client or an encryption scope.
KEYED, SCOPED = ("block-1", "append-1", "page-1"), ("block-2", "append-2", "page-2")
KEY_BYTES, SCOPE = b"the key of the crash test client", "crash-scope"
KEY_SHA256 = base64.b64encode(hashlib.sha256(KEY_BYTES).digest()).decode()
KEY_HEADERS = {"x-ms-encryption-key": base64.b64encode(KEY_BYTES).decode(), "x-ms-encryption-key-sha256": KEY_SHA256,
               "x-ms-encryption-algorithm": "AES256"}
# Changes that need neither.
WITHOUT_SECRET = ("?comp=tags",)


class Blob(NamedTuple):
    """A blob as a client sees it; the number is its metadata, `tag` the value of its tag."""

    kind: str
    content: bytes
    number: int
    tag: str = ""
    snapshots: tuple = ()


class Blobs:
    def __init__(self, index, seed, count=lambda: None):
        self.random = random.Random(seed * 1000 + index)
        self.count = count
        self.container = f"crash-{index:03}"
        self.number = 0
        self.is_created = False
        # One state of the container, or two while the outcome of the last operation is unknown.
        self.worlds = [{}]
        self.unknown = 0
        self.problems = []

    def take_problems(self):
        problems, self.problems = self.problems, []
        return problems

    def next_number(self):
        self.number += 1
        return self.number

    # --- operations: each returns False when its outcome is unknown

    def run(self, server):
        """Works until an outcome is unknown."""
        try:
            self.work(server, iter(self.choose, None))
        except RuntimeError as error:
            self.problems.append(f"wrong: {error}")

    def work(self, server, operations):
        """Does operations until an outcome is unknown; returns whether all are done."""
        if len(self.worlds) > 1:
            return False
        with self.client(server) as client:
            if not self.is_created and not self.create(client):
                return False
            self.is_created = True
            for operation in operations:
                if not operation(client):
                    return False
                self.count()
        return True

    def client(self, server):
        return StorageClient(server.at("blob"))

    def create(self, client):
        """Creating a container again changes nothing, so an unknown outcome leaves nothing to find out."""
        return self.send(client, [201, 409], "PUT", f"/{self.container}?restype=container") is not None

    def each(self):
        """Every operation."""
        return [self.put, self.commit, self.append, self.append, self.write_pages, self.write_pages, self.snapshot,
                self.copy, self.set_tag, self.set_number, self.delete]

    def choose(self):
        return self.random.choices(self.each(), [4, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2])[0]

    def send(self, client, wanted, *request):
        """Sends a request. None when its outcome is unknown."""
        try:
            response = client.ask(*request)
        except (OSError, http.client.HTTPException):
            self.unknown += 1
            return None
        if response.status >= 500:
            self.unknown += 1
            return None
        if response.status not in wanted:
            raise RuntimeError(f"{request[:2]} got {response.status} {response.text}")
        return response

    def change(self, client, name, blob, wanted, method, query="", body=None, headers=None):
        """Sends a change after which the blob is this one, or gone if it is None."""
        before = self.worlds[0]
        after = {other: found for other, found in before.items() if other != name} | ({name: blob} if blob else {})
        self.worlds = [before, after]
        secret = secret_of(name) if method == "PUT" and query not in WITHOUT_SECRET else {}
        response = self.send(client, [wanted], method, f"/{self.container}/{name}{query}", body, (headers or {}) | secret)
        if response is not None:
            self.worlds = [after]
        return response

    def name(self, kind):
        return f"{kind}-{self.random.randrange(NAMES)}"

    def pick(self, *kinds):
        """The name and the state of a blob of one of these types."""
        found = [(name, blob) for name, blob in self.worlds[0].items() if blob.kind in kinds]
        return self.random.choice(found) if found else (None, None)

    def fresh(self, name, kind, content):
        """A new blob in place of another, whose snapshots stay."""
        before = self.worlds[0].get(name)
        return Blob(kind, content, self.next_number(), "", before.snapshots if before else ())

    def bytes(self, size):
        return random.Random(self.next_number()).randbytes(size)

    def put(self, client):
        name = self.name("block")
        blob = self.fresh(name, "BlockBlob", self.bytes(self.random.choice(SIZES)))
        return self.change(client, name, blob, 201, "PUT", "", blob.content, {"x-ms-blob-type": "BlockBlob", **numbered(blob)}) is not None

    def commit(self, client):
        """Blocks become visible when their list is committed."""
        name, ids, content = self.name("block"), [], b""
        for index in range(self.random.randint(1, BLOCKS_MAX)):
            ids.append(base64.b64encode(f"{index:03}".encode()).decode())
            piece = self.bytes(self.random.choice(SIZES[1:]))
            content += piece
            path = f"/{self.container}/{name}?comp=block&blockid={urllib.parse.quote(ids[-1], safe='')}"
            if self.send(client, [201], "PUT", path, piece, secret_of(name)) is None:
                return False
        blob = self.fresh(name, "BlockBlob", content)
        body = "<BlockList>" + "".join(f"<Latest>{one}</Latest>" for one in ids) + "</BlockList>"
        return self.change(client, name, blob, 201, "PUT", "?comp=blocklist", body, numbered(blob)) is not None

    def append(self, client):
        name = self.name("append")
        before = self.worlds[0].get(name)
        if before is None or len(before.content) > APPENDED_BYTES_MAX:
            blob = self.fresh(name, "AppendBlob", b"")
            return self.change(client, name, blob, 201, "PUT", "", b"", {"x-ms-blob-type": "AppendBlob", **numbered(blob)}) is not None
        more = self.bytes(self.random.randint(1, APPEND_BYTES_MAX))
        blob = before._replace(content=before.content + more)
        position = {"x-ms-blob-condition-appendpos": len(before.content)}
        return self.change(client, name, blob, 201, "PUT", "?comp=appendblock", more, position) is not None

    def write_pages(self, client):
        name = self.name("page")
        before = self.worlds[0].get(name)
        if before is None:
            blob = self.fresh(name, "PageBlob", bytes(PAGE * PAGES))
            size = {"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": PAGE * PAGES, **numbered(blob)}
            return self.change(client, name, blob, 201, "PUT", "", b"", size) is not None
        first = self.random.randrange(PAGES)
        last = min(PAGES, first + self.random.choice((1, 1, 8, 40)))
        clears = self.random.random() < 0.3
        pages = bytes((last - first) * PAGE) if clears else self.bytes((last - first) * PAGE)
        blob = before._replace(content=before.content[:first * PAGE] + pages + before.content[last * PAGE:])
        headers = {"x-ms-page-write": "clear" if clears else "update", "x-ms-range": f"bytes={first * PAGE}-{last * PAGE - 1}"}
        return self.change(client, name, blob, 201, "PUT", "?comp=page", b"" if clears else pages, headers) is not None

    def snapshot(self, client):
        name, before = self.pick("BlockBlob", "AppendBlob", "PageBlob")
        if before is None or len(before.snapshots) >= SNAPSHOTS_MAX:
            return True
        blob = before._replace(snapshots=(*before.snapshots, before.content))
        return self.change(client, name, blob, 201, "PUT", "?comp=snapshot") is not None

    def copy(self, client):
        """A source with a key cannot be read by the server."""
        sources = [(name, blob) for name, blob in self.worlds[0].items() if blob.kind == "BlockBlob" and name not in KEYED]
        if not sources:
            return True
        source, from_blob = self.random.choice(sources)
        name = f"block-copy-{self.random.randrange(NAMES)}"
        blob = self.fresh(name, "BlockBlob", from_blob.content)
        connection = client.connection
        address = f"http://{connection.host}:{connection.port}/{client.account}/{self.container}/{source}"
        response = self.change(client, name, blob, 202, "PUT", "", b"", {"x-ms-copy-source": address, **numbered(blob)})
        if response is not None and response.headers["x-ms-copy-status"] != "success":
            raise RuntimeError(f"a copy within the account is {response.headers['x-ms-copy-status']}")
        return response is not None

    def set_tag(self, client):
        name, before = self.pick("BlockBlob", "AppendBlob")
        if before is None:
            return True
        blob = before._replace(tag=str(self.next_number()))
        body = f"<Tags><TagSet><Tag><Key>n</Key><Value>{blob.tag}</Value></Tag></TagSet></Tags>"
        return self.change(client, name, blob, 204, "PUT", "?comp=tags", body, {"Content-Type": "application/xml"}) is not None

    def set_number(self, client):
        name, before = self.pick("BlockBlob", "AppendBlob", "PageBlob")
        if before is None:
            return True
        blob = before._replace(number=self.next_number())
        return self.change(client, name, blob, 200, "PUT", "?comp=metadata", None, numbered(blob)) is not None

    def delete(self, client):
        name, before = self.pick("BlockBlob", "AppendBlob", "PageBlob")
        if before is None:
            return True
        return self.change(client, name, None, 202, "DELETE", "", None, {"x-ms-delete-snapshots": "include"}) is not None

    # --- verifying

    def verify(self, server):
        """Compares the possible states with the actual one, which is the state from then on. The server must be healthy."""
        with self.client(server) as client:
            if not self.is_created:
                return []
            found = self.observe(client)
            if found not in self.worlds:
                wanted = " or ".join(map(brief, self.worlds))
                return [f"lost: the blobs are {brief(found)}; wanted {wanted}"]
            self.worlds = [found]
            tagged = self.find(client)
            wanted = {name: blob.tag for name, blob in found.items() if blob.tag}
            return [] if tagged == wanted else [f"wrong: the index of tags has {tagged}, wanted {wanted}"]

    def read(self, server):
        """Reads all blobs while the disk may fail: whatever is returned in full must be right."""
        problems = []
        with self.client(server) as client:
            for name in {name for world in self.worlds for name in world}:
                try:
                    response = client.ask("GET", f"/{self.container}/{name}", None, key_of(name))
                except (OSError, http.client.HTTPException):
                    continue
                states = [world.get(name) for world in self.worlds]
                wanted = [blob.content if blob else None for blob in states]
                if response.status < 500 and (response.body if response.status == 200 else None) not in wanted:
                    problems.append(f"wrong: {name} is {response.status} with {len(response.body)} bytes; wanted {list(map(brief, states))}")
        return problems

    def observe(self, client):
        """The state of the container."""
        page = self.ask(client, f"/{self.container}?restype=container&comp=list&include=snapshots,metadata,tags")
        root, found = ElementTree.fromstring(page.body.decode("utf-8-sig")), {}
        if root.findtext("NextMarker"):
            raise RuntimeError("the list has more than one page")
        snapshots = {}
        for item in root.iter("Blob"):
            name, snapshot = item.findtext("Name"), item.findtext("Snapshot")
            path = f"/{self.container}/{name}" + (f"?snapshot={snapshot}" if snapshot else "")
            content = self.ask(client, path, key_of(name)).body
            self.check_secret(client, name, path, item)
            if snapshot:
                snapshots.setdefault(name, []).append(content)
                continue
            tag = item.findtext("Tags/TagSet/Tag/Value") or ""
            found[name] = Blob(item.findtext("Properties/BlobType"), content, int(item.findtext("Metadata/n")), tag,
                               tuple(snapshots.pop(name, ())))
        if snapshots:
            raise RuntimeError(f"snapshots without a blob: {list(snapshots)}")
        return found

    def check_secret(self, client, name, path, item):
        """A blob with a key cannot be read without it, and a listing names its key or scope."""
        found = item.findtext("Properties/CustomerProvidedKeySha256"), item.findtext("Properties/EncryptionScope")
        wanted = KEY_SHA256 if name in KEYED else None, SCOPE if name in SCOPED else None
        if found != wanted:
            raise RuntimeError(f"{path} is listed with the key and scope {found}, wanted {wanted}")
        if name in KEYED and (response := client.ask("GET", path)).code != "BlobUsesCustomerSpecifiedEncryption":
            raise RuntimeError(f"{path} without its key got {response.status} {response.code}")

    def find(self, client):
        """The tags according to the index."""
        where = urllib.parse.quote(f"@container='{self.container}' AND n>='0'", safe="")
        root = ElementTree.fromstring(self.ask(client, f"/?comp=blobs&where={where}").body.decode("utf-8-sig"))
        return {item.findtext("Name"): item.findtext("Tags/TagSet/Tag/Value") for item in root.iter("Blob")}

    def ask(self, client, path, headers=None):
        response = client.ask("GET", path, None, headers)
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {response.text}")
        return response


def key_of(name):
    """The headers that a read needs."""
    return KEY_HEADERS if name in KEYED else {}


def secret_of(name):
    """The headers that a write needs."""
    return {"x-ms-encryption-scope": SCOPE} if name in SCOPED else key_of(name)


def numbered(blob):
    return {"x-ms-meta-n": blob.number}


def brief(value):
    """Contents as their lengths and first bytes."""
    if isinstance(value, Blob):
        return f"{value.kind}({value.number}, {brief(value.content)}, tag {value.tag or None}, snapshots {list(map(brief, value.snapshots))})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {brief(blob)}" for name, blob in sorted(value.items())) + "}"
    return f"{len(value)} bytes {value[:4].hex()}" if isinstance(value, bytes) else str(value)
