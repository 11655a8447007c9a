"""The events of one account in the crash tests: which must have arrived once all are delivered, and in which order.

Every acknowledged change has its event, delivered at least once and in order per blob, and no event is without its change. So
what arrived, without what arrived twice, is the list of changes of each blob.
"""

import base64
import http.client
import json
import os
import re
import threading
import time

from lazuli import HANG_SECONDS, StorageClient

QUEUE = "changes"
# Longer than any run: a message that was read stays hidden.
HIDDEN_SECONDS = 7 * 24 * 3600
GET_MAX = 32
# Events of blobs that leave the archive arrive when their time has come.
PAUSE_SECONDS = 0.05
TEXT = re.compile(r"<MessageText>(.*?)</MessageText>")
SUBJECT = "/blobServices/default/containers/{}/blobs/{}"


class Events:
    def __init__(self, account, key):
        self.account, self.key = account, key
        # By subject, the events in order: operation, size of the content, tier.
        self.wanted, self.arrived = {}, {}
        self.ids = set()
        # Events that arrived again.
        self.again = 0

    def expect(self, container, name, event):
        """The event of a change that has happened."""
        self.wanted.setdefault(SUBJECT.format(container, name), []).append(event)

    def verify(self, server, location):
        """Waits until all events have arrived. The server must be healthy."""
        last = time.monotonic() + HANG_SECONDS
        drain(location)
        self.receive(server)
        while self.are_missing() and time.monotonic() < last:
            threading.Event().wait(PAUSE_SECONDS)
            drain(location)
            self.receive(server)
        return [f"wrong: the events of {subject} in {self.account} are {brief(self.arrived, subject)}, "
                f"wanted {brief(self.wanted, subject)}"
                for subject in sorted(self.wanted | self.arrived) if self.wanted.get(subject) != self.arrived.get(subject)]

    def are_missing(self):
        return any(len(self.arrived.get(subject, [])) < len(events) for subject, events in self.wanted.items())

    def receive(self, server):
        """Takes all messages."""
        with StorageClient(server.at("queue"), self.account, self.key) as client:
            while texts := self.get(client):
                for text in texts:
                    self.take(json.loads(base64.b64decode(text)))

    def get(self, client):
        response = client.ask("GET", f"/{QUEUE}/messages?numofmessages={GET_MAX}&visibilitytimeout={HIDDEN_SECONDS}")
        if response.status != 200 and response.code != "QueueNotFound":
            raise RuntimeError(f"reading events got {response.status} {response.text}")
        return TEXT.findall(response.text)

    def take(self, event):
        if event["id"] in self.ids:
            self.again += 1
            return
        self.ids.add(event["id"])
        data, is_move = event["data"], event["eventType"].endswith("TierChanged")
        found = (data["api"], data.get("contentLength"), data["accessTier"] if is_move else None)
        self.arrived.setdefault(event["subject"], []).append(found)


def drain(location):
    """Waits until all events so far are delivered."""
    with open(os.path.join(location, "admin.json")) as file:
        address = json.load(file)["address"]
    connection = http.client.HTTPConnection(address, timeout=HANG_SECONDS)
    try:
        connection.request("POST", f"/events/drain/{HANG_SECONDS // 2}")
        response = connection.getresponse()
        text = response.read().decode()
        if response.status != 200 or not json.loads(text)["drained"]:
            raise RuntimeError(f"the events are not delivered: {response.status} {text}")
    finally:
        connection.close()


def brief(events, subject):
    """The last events of a blob: earlier ones were compared before."""
    found = events.get(subject, [])
    return f"{len(found)} ending with {found[-8:]}"
