"""Messages and leases, which have one holder at a time, at all front ends together.

Producers put messages, consumers get and delete them. Rules: an acknowledged message is delivered; it has one holder until its
timeout ends, and none after it was deleted; no put is applied twice. Contenders acquire and release the lease of a blob. Rule: it
has one holder at a time."""

import re
import threading
import time
import urllib.parse
import uuid

from load import BROKEN, TIMEOUT, USUAL, Endpoints, Load, Wrong

QUEUE = "ring"
PRODUCERS, CONSUMERS, CONTENDERS = 2, 3, 3
# Seconds for which a message or a lease belongs to its holder: the shortest duration of a lease.
HELD = 15
# Between requests of a thread.
PAUSE = 0.05
# Less than this is not a violation: times are rounded on the way.
SLACK = 1
LEASED = "/ring/leased"


def ask(ends, *args, **options):
    """The response, or None if the outcome is unknown."""
    try:
        response = ends.ask(*args, **options)
    except BROKEN:
        return None
    return None if response.status >= 500 else response


def must_be(response, *statuses):
    if response.status not in statuses:
        raise Wrong(f"{response.status} {response.text}, expected {statuses}")
    return response


class Messages(Load):
    def __init__(self, servers):
        super().__init__(servers)
        # Texts by what is known about them; and by message id: when its holder asked, and whether it was deleted.
        self.sent, self.tried, self.received = set(), set(), {}
        self.holders, self.deleted = {}, set()
        self.lock = threading.Lock()
        self.queue = f"{QUEUE}-{uuid.uuid4().hex}"
        must_be(Endpoints(servers, 0, "queue").ask("PUT", f"/{self.queue}", headers={"Content-Length": 0}), 201)
        self.start([(self.produce, n) for n in range(PRODUCERS)] + [(self.consume, n) for n in range(CONSUMERS)])

    def produce(self, number):
        ends, turn = Endpoints(self.servers, number, "queue"), 0
        while not self.over.is_set():
            turn += 1
            text = f"{number}-{turn}"
            self.tried.add(text)
            body = f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"
            response = ask(ends, "POST", f"/{self.queue}/messages", body)
            if response is None:
                self.counts[USUAL]["unknown"] += 1
            else:
                must_be(response, 201)
                self.sent.add(text)
                self.acknowledge()
            self.over.wait(PAUSE)

    def consume(self, number):
        ends = Endpoints(self.servers, number, "queue")
        while not self.over.is_set():
            if not self.take(ends):
                self.over.wait(PAUSE)

    def take(self, ends):
        """Gets messages and deletes them; returns their number."""
        asked = time.monotonic()
        response = ask(ends, "GET", f"/{self.queue}/messages?numofmessages=4&visibilitytimeout={HELD}")
        if response is None:
            return 0
        found = re.findall("<MessageId>([^<]*).*?<PopReceipt>([^<]*).*?<MessageText>([^<]*)", must_be(response, 200).text, re.S)
        for identity, _, text in found:
            self.hold(identity, text, asked)
        for identity, receipt, _ in found:
            path = f"/{self.queue}/messages/{identity}?popreceipt={urllib.parse.quote(receipt, safe='')}"
            response = ask(ends, "DELETE", path)
            if response is None:
                self.counts[USUAL]["unknown"] += 1
            elif response.status == 204:
                self.deleted.add(identity)
            elif time.monotonic() < asked + HELD - SLACK:
                self.note(USUAL, "two holders", f"{identity} was not deleted by its holder: {response.status} {response.text}")
        return len(found)

    def hold(self, identity, text, asked):
        now = time.monotonic()
        with self.lock:
            if text not in self.tried:
                self.note(USUAL, "two holders", f"{text} was delivered, which nobody put")
            if self.received.setdefault(text, identity) != identity:
                self.note(USUAL, "put twice", f"{text} is {identity} and {self.received[text]}")
            if now > asked + HELD - SLACK:
                # The response was so late that another may have it by now.
                return
            if identity in self.deleted:
                self.note(USUAL, "two holders", f"{identity} was delivered after its deletion")
            before = self.holders.get(identity)
            if before is not None and now < before + HELD - SLACK:
                self.note(USUAL, "two holders", f"{identity} was delivered again after {now - before:.1f} s")
            self.holders[identity] = asked

    def finish(self):
        """Stops all threads, and takes the remaining messages. A message whose response was lost comes back after its
        timeout."""
        self.join()
        ends, end = Endpoints(self.servers, 0, "queue"), time.monotonic() + HELD + 2 * TIMEOUT
        while self.sent - self.received.keys() and time.monotonic() < end:
            if not self.take(ends):
                time.sleep(PAUSE)
        lost = self.sent - self.received.keys()
        if lost:
            self.note(USUAL, "lost", f"messages {sorted(lost)[:3]}", len(lost))


class Leases(Load):
    def __init__(self, servers):
        super().__init__(servers)
        # The holder of the lease, and the earliest time at which the lease can end.
        self.holder, self.until = None, 0
        self.lock = threading.Lock()
        ends = Endpoints(servers, 0, "blob")
        must_be(ends.ask("PUT", "/ring?restype=container", headers={"Content-Length": 0}), 201, 409)
        must_be(ends.ask("PUT", f"{LEASED}?comp=lease", headers={"x-ms-lease-action": "break", "x-ms-lease-break-period": 0,
                                                                "Content-Length": 0}), 202, 404, 409)
        must_be(ends.ask("PUT", LEASED, b"x", {"x-ms-blob-type": "BlockBlob"}), 201)
        self.start([(self.contend, n) for n in range(CONTENDERS)])

    def contend(self, number):
        ends = Endpoints(self.servers, number, "blob")
        while not self.over.is_set():
            lease, asked = str(uuid.uuid4()), time.monotonic()
            headers = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": HELD, "x-ms-proposed-lease-id": lease, "Content-Length": 0}
            response = ask(ends, "PUT", f"{LEASED}?comp=lease", headers=headers)
            if response is None:
                self.counts[USUAL]["unknown"] += 1
            elif must_be(response, 201, 409).status == 201:
                self.hold(lease, asked)
                self.acknowledge()
                self.over.wait(PAUSE)
                with self.lock:
                    # From here on another may get it.
                    if self.holder == lease:
                        self.holder = None
            if response is None or response.status == 201:
                ask(ends, "PUT", f"{LEASED}?comp=lease", headers={"x-ms-lease-action": "release", "x-ms-lease-id": lease, "Content-Length": 0})
            self.over.wait(PAUSE)

    def hold(self, lease, asked):
        with self.lock:
            now = time.monotonic()
            if now > asked + HELD - SLACK:
                return
            if self.holder is not None and now < self.until - SLACK:
                self.note(USUAL, "two holders", f"{lease} was granted while {self.holder} was held for another {self.until - now:.1f} s")
            self.holder, self.until = lease, asked + HELD

    def finish(self):
        self.join()
