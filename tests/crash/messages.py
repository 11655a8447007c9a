"""The messages of one client in the crash tests: what it does, and what must be found after a crash.

QU-01, QU-03, QU-04: an acknowledged message exists until it is deleted; a dequeued one stays hidden, and its receipt stays
valid; visible ones come in the order in which they became visible; a move loses and duplicates nothing.

The client owns two queues, so it knows their state: after an acknowledgement exactly one, after an unknown outcome one of a few.
It stops at the first unknown outcome; the verification on a healthy server shows which it was.
"""

import copy
import http.client
import random
import re
import urllib.parse
from xml.sax.saxutils import unescape

from lazuli import StorageClient

# Longer than any run: a message that is held never becomes visible by itself.
HELD_SECONDS = 7 * 24 * 3600 - 60
# The client deletes rather than puts when it has this many.
MESSAGES_MAX = 60
GET_MAX = 5
MESSAGE = re.compile(r"<QueueMessage>.*?<MessageId>(.*?)</MessageId>.*?<PopReceipt>(.*?)</PopReceipt>.*?"
                     r"<MessageText>(.*?)</MessageText></QueueMessage>", re.S)


class World:
    """A state: the texts of visible messages by queue, in order, and the messages that are held."""

    def __init__(self, names):
        self.visible = {name: [] for name in names}
        # By text: the queue, the id, and the receipt; no receipt if the response with it was lost.
        self.held = {}

    def count(self, name):
        return len(self.visible[name]) + sum(queue == name for queue, _, _ in self.held.values())

    def size(self):
        return sum(map(self.count, self.visible))


class Messages:
    def __init__(self, index, seed, count=lambda: None):
        self.random = random.Random(seed * 1000 + index)
        self.count = count
        self.names = [f"crash-{index:03}-{side}" for side in "ab"]
        self.number = 0
        self.are_created = False
        # One world, or several while the outcome of the last operation is unknown.
        self.worlds = [World(self.names)]
        self.unknown = 0
        self.problems = []

    def take_problems(self):
        problems, self.problems = self.problems, []
        return problems

    def is_settled(self):
        return len(self.worlds) == 1

    # --- operations: each returns False when its outcome is unknown

    def run(self, server):
        """Works until an outcome is unknown."""
        self.work(server, iter(lambda: self.choose(), None))

    def work(self, server, operations):
        """Does operations until an outcome is unknown; returns whether all are done."""
        if not self.is_settled():
            return False
        with StorageClient(server.at("queue")) as client:
            if not self.are_created and not self.create(client):
                return False
            for operation in operations:
                if not operation(client):
                    return False
                self.count()
        return True

    def each(self):
        """Every operation; the second message is there to be moved."""
        return [self.put, self.get, self.update, self.put, self.move, self.release, self.delete]

    def choose(self):
        world = self.worlds[0]
        choices = {self.put: 6 if world.size() < MESSAGES_MAX else 0, self.get: 3, self.update: 2, self.release: 2,
                   self.delete: 3 if world.size() < MESSAGES_MAX else 9, self.move: 1}
        return self.random.choices(list(choices), list(choices.values()))[0]

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

    def attempt(self, client, after, wanted, *request):
        """Sends a change whose possible results are the worlds `after`, the last of them if it is acknowledged."""
        self.worlds = [self.worlds[0], *after]
        response = self.send(client, [wanted], *request)
        if response is not None:
            self.worlds = after[-1:]
        return response

    def create(self, client):
        """Creating a queue again changes nothing, so an unknown outcome leaves nothing to find out."""
        for name in self.names:
            if self.send(client, [201, 204], "PUT", f"/{name}") is None:
                return False
        self.are_created = True
        return True

    def text(self):
        self.number += 1
        return f"{self.number} " + "x" * self.random.randrange(300)

    def put(self, client):
        name, text, after = self.names[0], self.text(), copy.deepcopy(self.worlds[0])
        after.visible[name].append(text)
        return self.attempt(client, [after], 201, "POST", f"/{name}/messages?messagettl=-1", body(text)) is not None

    def get(self, client):
        """The first messages of the queue are hidden together, or none of them is."""
        before = self.worlds[0]
        name = self.random.choice([name for name in self.names if before.visible[name]] or self.names)
        count = self.random.randint(1, GET_MAX)
        texts, after = before.visible[name][:count], copy.deepcopy(before)
        del after.visible[name][:count]
        after.held |= {text: (name, None, None) for text in texts}
        response = self.attempt(client, [after], 200, "GET", get_path(name, count))
        if response is None:
            return False
        found = messages(response)
        if [text for text, _, _ in found] != texts:
            self.problems.append(f"wrong: {name} returned {brief(found)}, wanted {brief(texts)}")
        for text, message, receipt in found:
            after.held[text] = name, message, receipt
        return True

    def pick(self):
        """A message that is held, with its receipt."""
        held = [(text, *found) for text, found in self.worlds[0].held.items() if found[2]]
        return self.random.choice(held) if held else None

    def update(self, client):
        """New text, and hidden for longer. The receipt changes, so an unknown outcome may leave the message without one."""
        picked = self.pick()
        if picked is None:
            return True
        text, name, message, receipt = picked
        fresh, after = self.text(), copy.deepcopy(self.worlds[0])
        del after.held[text]
        after.held[fresh] = name, message, None
        response = self.attempt(client, [after], 204, "PUT", message_path(name, message, receipt, HELD_SECONDS), body(fresh))
        if response is None:
            return False
        after.held[fresh] = name, message, response.headers["x-ms-popreceipt"]
        return True

    def release(self, client):
        """The message becomes visible at the back."""
        picked = self.pick()
        if picked is None:
            return True
        text, name, message, receipt = picked
        after = copy.deepcopy(self.worlds[0])
        del after.held[text]
        after.visible[name].append(text)
        return self.attempt(client, [after], 204, "PUT", message_path(name, message, receipt, 0)) is not None

    def delete(self, client):
        picked = self.pick()
        if picked is None:
            return True
        text, name, message, receipt = picked
        after = copy.deepcopy(self.worlds[0])
        del after.held[text]
        return self.attempt(client, [after], 204, "DELETE", message_path(name, message, receipt)) is not None

    def move(self, client):
        """One after the other: after a crash the first of them are in the second queue, the others in the first."""
        (one, two), before, count = self.names, self.worlds[0], self.random.randint(1, GET_MAX)
        after = []
        for moved in range(1, min(count, len(before.visible[one])) + 1):
            world = copy.deepcopy(before)
            world.visible[two] += world.visible[one][:moved]
            del world.visible[one][:moved]
            after.append(world)
        path = f"/{one}/messages?comp=move&to={two}&numofmessages={count}"
        return self.attempt(client, after or [copy.deepcopy(before)], 200, "PUT", path) is not None

    # --- verifying

    def verify(self, server):
        """Compares the possible states with the actual one, which is the state from then on. The server must be healthy."""
        with StorageClient(server.at("queue")) as client:
            if not self.are_created and not self.create(client):
                return ["wrong: a queue cannot be created"]
            one, two = self.names
            drained = {one: drain(client, one)}
            # Continues a move that was interrupted.
            client.ask("PUT", f"/{one}/messages?comp=move&to={two}&numofmessages=1")
            drained[two] = drain(client, two)
            texts = {name: [text for text, _, _ in found] for name, found in drained.items()}
            receipts = self.probe(client)
            matching = [world for world in self.worlds
                        if world.visible == texts and all(is_plausible(world, *entry) for entry in receipts.items())]
            if not matching:
                wanted = " or ".join(f"{brief(world.visible)}, held {brief(list(world.held))}" for world in self.worlds)
                good = [text for (text, _), renewed in receipts.items() if renewed]
                return [f"lost: the messages are {brief(texts)}, held with a valid receipt {brief(good)}; wanted {wanted}"]
            world = matching[0]
            problems = self.check_counts(client, world)
            self.settle(client, world, drained, receipts)
            return problems

    def probe(self, client):
        """Each known receipt with the one that replaces it; None if it is no longer valid."""
        found = {}
        for world in self.worlds:
            for text, (name, message, receipt) in world.held.items():
                if receipt and (text, receipt) not in found:
                    response = client.ask("PUT", message_path(name, message, receipt, HELD_SECONDS))
                    found[text, receipt] = response.headers.get("x-ms-popreceipt") if response.status == 204 else None
        return found

    def check_counts(self, client, world):
        problems = []
        for name in self.names:
            response = client.ask("GET", f"/{name}?comp=metadata")
            if response.headers.get("x-ms-approximate-messages-count") != str(world.count(name)):
                problems.append(f"wrong: {name} counts {response.headers.get('x-ms-approximate-messages-count')} messages, "
                                f"wanted {world.count(name)}")
        return problems

    def settle(self, client, world, drained, receipts):
        """Everything is held now, or the queues are empty."""
        held = {text: (name, message, receipts.get((text, receipt))) for text, (name, message, receipt) in world.held.items()}
        held |= {text: (name, message, receipt) for name, found in drained.items() for text, message, receipt in found}
        if any(receipt is None for _, _, receipt in held.values()):
            for name in self.names:
                if client.ask("DELETE", f"/{name}/messages").status != 204:
                    raise RuntimeError(f"{name} cannot be cleared")
            held = {}
        self.worlds = [World(self.names)]
        self.worlds[0].held = held


def is_plausible(world, key, renewed):
    """Is each receipt valid exactly if the message is held with it in this world?"""
    text, receipt = key
    is_held = text in world.held and world.held[text][2] == receipt
    return is_held == (renewed is not None)


def drain(client, name):
    """Takes all visible messages."""
    found = []
    while True:
        response = client.ask("GET", get_path(name, 32))
        if response.status != 200:
            raise RuntimeError(f"{name}: {response.status} {response.text}")
        page = messages(response)
        if not page:
            return found
        found += page


def messages(response):
    return [(unescape(text), message, receipt) for message, receipt, text in MESSAGE.findall(response.text)]


def body(text):
    return f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"


def get_path(name, count):
    return f"/{name}/messages?numofmessages={count}&visibilitytimeout={HELD_SECONDS}"


def message_path(name, message, receipt, visibility=None):
    hidden = "" if visibility is None else f"&visibilitytimeout={visibility}"
    return f"/{name}/messages/{message}?popreceipt={urllib.parse.quote(receipt, safe='')}{hidden}"


def brief(value):
    text = re.sub(r" x*", "", str(value))
    return text if len(text) < 400 else text[:400] + "..."
