"""The expectations of the crash tests about protected blobs: versions, deleted blobs, tiers, holds, and a deleted
container.

An acknowledged change is present after a crash, and one in progress is applied completely or not at all. An overwritten state
is kept, a deleted blob is deleted or present, and undelete restores everything. A version or snapshot never changes, except
for its own tier, protection and deletion. A state with a hold or a policy cannot be deleted. Every change has its event
(events.py).

One account keeps versions and deleted versions. The other keeps deleted blobs and, as deleted snapshots, overwritten
states.
"""

import base64
import functools
import hashlib
import http.client
from typing import NamedTuple
from xml.etree import ElementTree

from blobs import Blobs
from events import QUEUE, Events
from lazuli import ACCOUNT, KEY, StorageClient

VERSIONED, RETAINED = "crashversions", "crashretained"
KEEPING = (VERSIONED, RETAINED)
# The account with a website and logs (website.py).
SITE = "crashsite"
ENVIRONMENT = {"LAZULI_ACCOUNTS": ";".join(f"{account}:{KEY}" for account in (ACCOUNT, *KEEPING, SITE))}
POLICY = ("<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days>"
          "<AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy></StorageServiceProperties>")
# The blob itself; a version or snapshot; one that is deleted; a blob that is deleted.
CURRENT, PAST, DELETED, BIN = "current", "past", "deleted", "bin"
# The key of the other container among the names of blobs, and the blob in it.
BOX, THING = "", "thing"
# Nothing listens there.
NOWHERE = "http://127.0.0.1:9/"
XML = {"Content-Type": "application/xml"}


def flags(rehydrate_seconds=0, delivers=True):
    """Arguments of a server for these clients. Without `delivers`, the target of events cannot be reached."""
    target = f"queue:{QUEUE}" if delivers else NOWHERE
    return ["--blob-versioning=" + VERSIONED, "--container-retention-days", 7, "--rehydrate-seconds", rehydrate_seconds,
            *(part for account in KEEPING for part in ("--events", f"{account}={target}"))]


class Unread(NamedTuple):
    """The content of a deleted or archived state, which cannot be read. None for what is not known."""

    size: int | None
    md5: str | None


class State(NamedTuple):
    """One state of a blob; the number is its metadata, `tag` the value of its tag."""

    life: str
    kind: str
    content: bytes | Unread
    number: int = 0
    tag: str = ""
    tier: str = ""
    guard: str = ""


class NotRead(RuntimeError):
    """A listing got no response, or an error of the server."""


class KeptBlobs(Blobs):
    def __init__(self, index, seed, account, count=lambda: None):
        super().__init__(index, seed, count)
        self.account, self.has_versions = account, account == VERSIONED
        self.container, self.box = f"protected-{index:03}", f"box-{index:03}"
        # Blobs that are leaving the archive, which the client leaves alone.
        self.thawing = set()
        self.events = Events(account, KEY)
        # The event of the last change: names of the container and of the blob, and the data of the event.
        self.event = None
        # Number of operations on the other container.
        self.box_uses = 0

    def client(self, server):
        return StorageClient(server.at("blob"), self.account, KEY)

    def create(self, client):
        path = "/?restype=service&comp=properties"
        return self.send(client, [202], "PUT", path, POLICY, XML) is not None and super().create(client)

    def work(self, server, operations):
        return super().work(server, (functools.partial(self.attempt, operation) for operation in operations))

    def attempt(self, operation, client):
        """An operation that has to read first changes nothing if the read fails."""
        try:
            return operation(client)
        except NotRead:
            return False

    def ask(self, client, path):
        try:
            response = client.ask("GET", path)
        except (OSError, http.client.HTTPException) as error:
            raise NotRead(f"{path}: {error!r}") from error
        if response.status != 200:
            raise (NotRead if response.status >= 500 else RuntimeError)(f"{path}: {response.status} {response.text}")
        return response

    def settle(self, world):
        """The outcome is known."""
        if world is self.worlds[-1] and self.event:
            self.events.expect(*self.event)
        self.worlds, self.event = [world], None

    def states(self, name):
        return self.worlds[0].get(name, ())

    def current(self, name):
        return current(self.worlds[0], name)

    def verify(self, server):
        """Compares the possible states with the actual one. The server must be healthy."""
        if not self.is_created:
            return []
        with self.client(server) as client:
            found = self.observe(client)
            matching = [world for world in self.worlds if is_same(found, world)]
            if not matching:
                wanted = " or ".join(map(brief, self.worlds))
                return [f"lost: in {self.account} the states are {brief(found)}; wanted {wanted}"]
            self.settle(matching[0])
            tagged, problems = self.find(client), []
            wanted = {name: state.tag for name in found if name != BOX and (state := self.current(name))}
            if tagged != wanted:
                problems.append(f"wrong: the index of tags in {self.account} has {tagged}, wanted {wanted}")
            return problems + self.try_deletions(client)

    def try_deletions(self, client):
        """Protected states cannot be deleted."""
        problems = []
        for name, states in self.worlds[0].items():
            for position, state in enumerate(states):
                if state.guard:
                    path = f"/{self.container}/{name}{self.reference(client, name, position)}"
                    response = client.ask("DELETE", path)
                    if response.status != 409:
                        problems.append(f"wrong: deleting {path} with a {state.guard} got {response.status}")
        return problems

    def finish(self, server, location):
        """Restores everything that is deleted, and compares contents and events."""
        problems = self.verify(server)
        if problems or not self.is_created:
            return problems
        with self.client(server) as client:
            for name, states in list(self.worlds[0].items()):
                if any(state.life in (DELETED, BIN) for state in states):
                    self.use_box(client) if name == BOX else self.undelete(client, name)
        return self.verify(server) + self.events.verify(server, location)

    def read(self, server):
        """Reads all blobs while the disk may fail: whatever is returned in full must be right."""
        problems = []
        with self.client(server) as client:
            for name in {name for world in self.worlds for name in world if name != BOX}:
                try:
                    response = client.ask("GET", f"/{self.container}/{name}")
                except (OSError, http.client.HTTPException):
                    continue
                states = [current(world, name) for world in self.worlds]
                contents = [state.content for state in states if state]
                may_be_hidden = name in self.thawing or any(state is None or state.tier == "Archive" for state in states)
                if response.status < 500 and not (response.body in contents if response.status == 200 else may_be_hidden):
                    problems.append(f"wrong: {name} in {self.account} is {response.status} with {len(response.body)} bytes")
        return problems

    def observe(self, client):
        """The states of all blobs. Deleted and archived states cannot be read, all others can."""
        found, self.thawing = {}, set()
        for name, states in self.listed(client).items():
            for reference, item in states.items():
                state = self.seen(client, name, reference, item)
                found[name] = (*found.get(name, ()), state)
        box = self.box_item(client)
        if box is not None:
            found[BOX] = (self.seen_box(client, box),)
        return found

    def seen(self, client, name, reference, item):
        of = lambda path: item.findtext(path) or ""  # noqa: E731
        life = DELETED if of("Deleted") else PAST
        if not reference or of("IsCurrentVersion"):
            life = BIN if of("Deleted") else CURRENT
        tier, status = of("Properties/AccessTier"), of("Properties/ArchiveStatus")
        if status:
            tier = status.removeprefix("rehydrate-pending-to-").capitalize()
            self.thawing.add(name)
        guard = "hold" if of("Properties/LegalHold") else "policy" if of("Properties/ImmutabilityPolicyMode") else ""
        content = self.seen_content(client, f"/{self.container}/{name}{reference}", life, item)
        return State(life, of("Properties/BlobType"), content, int(of("Metadata/n")), of("Tags/TagSet/Tag/Value"), tier, guard)

    def seen_content(self, client, path, life, item):
        response = client.ask("GET", path)
        wanted = ["BlobNotFound"] if life in (DELETED, BIN) else ["BlobArchived"]
        if life in (CURRENT, PAST) and (item.findtext("Properties/AccessTier") != "Archive" or response.status == 200):
            wanted = [""]
        if response.code not in wanted:
            raise RuntimeError(f"{path} in {self.account}, listed as {life}: {response.status} {response.code}")
        size, digest = int(item.findtext("Properties/Content-Length")), item.findtext("Properties/Content-MD5")
        return response.body if response.status == 200 else Unread(size, digest or None)

    def seen_box(self, client, item):
        response = client.ask("GET", f"/{self.box}/{THING}")
        if item.findtext("Deleted"):
            wanted, state = "ContainerNotFound", State(BIN, BOX, Unread(None, None))
        else:
            wanted = "" if response.status == 200 else "BlobNotFound"
            state = State(CURRENT, BOX, b"" if wanted else response.body)
        if response.code != wanted:
            raise RuntimeError(f"{self.box} in {self.account}, listed as {state.life}: {response.status} {response.code}")
        return state

    def box_item(self, client):
        """The other container in a listing."""
        page = self.ask(client, f"/?comp=list&include=deleted&prefix={self.box}")
        items = list(ElementTree.fromstring(page.body.decode("utf-8-sig")).iter("Container"))
        if len(items) > 1:
            raise RuntimeError(f"{self.box} in {self.account} is listed {len(items)} times")
        return items[0] if items else None

    def listed(self, client, prefix=""):
        """The states of blobs, oldest first: by name, and by the parameter that names the state."""
        kept = "versions" if self.has_versions else "snapshots"
        path = f"/{self.container}?restype=container&comp=list&prefix={prefix}&include={kept},metadata,tags,deleted,legalhold,immutabilitypolicy"
        root = ElementTree.fromstring(self.ask(client, path).body.decode("utf-8-sig"))
        if root.findtext("NextMarker"):
            raise RuntimeError("the list has more than one page")
        found = {}
        for item in root.iter("Blob"):
            version, snapshot = item.findtext("VersionId"), item.findtext("Snapshot")
            is_current = item.findtext("IsCurrentVersion") or not (version or snapshot)
            order = "~" if is_current else version or snapshot
            reference = "" if is_current else f"?versionid={version}" if version else f"?snapshot={snapshot}"
            found.setdefault(item.findtext("Name"), []).append((order, reference, item))
        return {name: {reference: item for _, reference, item in sorted(states, key=lambda state: state[0])}
                for name, states in found.items()}

def current(world, name):
    """The blob itself, if it exists."""
    states = world.get(name, ())
    return states[-1] if states and states[-1].life == CURRENT else None


def md5(content):
    return base64.b64encode(hashlib.md5(content).digest()).decode()


def is_same(found, wanted):
    """Are these states of all blobs the same, as far as contents can be read?"""
    return found.keys() == wanted.keys() and all(
        len(found[name]) == len(wanted[name]) and all(map(is_like, found[name], wanted[name])) for name in found)


def is_like(found, wanted):
    content = found.content
    if isinstance(content, Unread):
        has_content = content.size in (None, len(wanted.content)) and content.md5 in (None, md5(wanted.content))
    else:
        has_content = content == wanted.content
    return has_content and found._replace(content=b"") == wanted._replace(content=b"")


def brief(value):
    """Contents as their sizes and digests."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name or 'box'}: [{', '.join(map(brief, states))}]" for name, states in sorted(value.items())) + "}"
    content = value.content
    content = content if isinstance(content, Unread) else Unread(len(content), md5(content))
    return f"{value.life} {value.kind} {value.number} tag {value.tag} {value.tier} {value.guard} {content.size} bytes {content.md5}"
