"""One writer of the crash test: what it does, and what must be found after a crash.

Each writer owns its rows, so it knows their state: after an acknowledgement exactly one, after an unknown outcome one of
two. It stops at the first unknown outcome; the verification after the restart shows which of the two it was.
"""

import http.client
import json
import random
import re

from lazuli import Client, entity_path, ticks

TABLE = "crash"
# Single rows and groups per partition; every batch writes a whole group.
ROWS = 12
GROUPS = 4
GROUP_ROWS = (2, 3, 5, 9)
TABLES = 3


class Row:
    """The expected row: one of the states, each the properties or None for no row."""

    def __init__(self):
        self.states = [None]
        # The greatest version ever acknowledged or seen, and the one of the acknowledged state.
        self.version = 0
        self.exact = None


class Writer:
    def __init__(self, index, seed, count):
        self.index = index
        self.random = random.Random(seed * 1000 + index)
        self.count = count
        self.number = 0
        partitions = [f"own{index:03}", "shared"]
        self.rows = {(p, f"w{index:03}-{n}"): Row() for p in partitions for n in range(ROWS)}
        self.groups = [[(p, f"g{index:03}-{g}-{n}") for n in range(GROUP_ROWS[g])]
                       for p in partitions for g in range(GROUPS)]
        self.group_rows = {key: Row() for group in self.groups for key in group}
        self.tables = {f"w{index:03}x{n}": [False] for n in range(TABLES)}
        self.log = {}
        self.log_seen = None
        self.unknown = self.applied = self.batches = 0
        self.problems = []

    def keys(self):
        return [*self.rows, *self.group_rows, *self.log]

    def take_problems(self):
        problems, self.problems = self.problems, []
        return problems

    # --- writing

    def run(self, server):
        """Writes until an outcome is unknown."""
        actions = [(self.write_row, 10), (self.write_group, 6), (self.append, 3), (self.change_table, 0.2)]
        doers, weights = zip(*actions)
        with Client(server) as client:
            while self.random.choices(doers, weights)[0](client):
                self.count()

    def send(self, client, wanted, *request):
        """Sends a request. None when its outcome is unknown."""
        try:
            response = client.ask(*request)
        except (OSError, http.client.HTTPException):
            self.unknown += 1
            return None
        if response.status not in wanted:
            self.unknown += 1
            self.problems.append(f"wrong: {request[:2]} got {response.status} {response.text}")
            return None
        return response

    def next_number(self):
        self.number += 1
        return self.number

    def write_row(self, client):
        key = self.random.choice(list(self.rows))
        row, number = self.rows[key], self.next_number()
        before, path = row.states[0], entity_path(TABLE, *key)
        fresh = {"Number": number, "Text": f"value {number} " * self.random.randrange(1, 60)}
        part = {f"Merged{number % 3}": number}
        if before is None:
            action = self.random.choice(["insert", "put", "merge"])
        else:
            action = self.random.choice(["put", "merge", "replace", "update", "delete", "rejected"])
        keys = {"PartitionKey": key[0], "RowKey": key[1]}
        exact = {"If-Match": row.exact} if row.exact and self.random.random() < 0.5 else {"If-Match": "*"}
        after, wanted, request = {
            "insert": (fresh, 204, ("POST", f"/{TABLE}", fresh | keys)),
            "put": (fresh, 204, ("PUT", path, fresh)),
            "merge": ((before or {}) | part, 204, ("MERGE", path, part)),
            "replace": (fresh, 204, ("PUT", path, fresh, exact)),
            "update": ((before or {}) | part, 204, ("MERGE", path, part, exact)),
            "delete": (None, 204, ("DELETE", path, None, exact)),
            "rejected": (before, 409, ("POST", f"/{TABLE}", fresh | keys)),
        }[action]
        row.states = [before, after]
        response = self.send(client, [wanted], *request)
        if response is None:
            return False
        row.states = [after]
        if action == "delete":
            row.exact = None
        elif action != "rejected":
            self.acknowledge(key, row, response.headers["ETag"])
        return True

    def acknowledge(self, key, row, etag):
        """A later write has a later version."""
        if ticks(etag) <= row.version:
            self.problems.append(f"wrong: {key} was given version {ticks(etag)} after {row.version}")
        row.version, row.exact = ticks(etag), etag

    def write_group(self, client):
        """One transaction over a whole group: all rows get the same number, or all are deleted."""
        group, number = self.random.choice(self.groups), self.next_number()
        rows = [self.group_rows[key] for key in group]
        present = rows[0].states[0] is not None
        drop = present and self.random.random() < 0.2
        operations, after = [], []
        for key, row in zip(group, rows):
            before = row.states[0]
            part = {"Batch": number}
            if drop:
                method, state, body = "DELETE", None, None
            elif self.random.random() < 0.5:
                state = part | {"Text": "x" * self.random.randrange(500)}
                method, body = "PUT", state
            else:
                method, body, state = "MERGE", part, (before or {}) | part
            operations.append(operation(client, method, key, body))
            after.append(state)
        for row, state in zip(rows, after):
            row.states = [row.states[0], state]
        response = self.send(client, [202], "POST", "/$batch", envelope(operations), {
            "Content-Type": "multipart/mixed; boundary=batch_b"})
        if response is None:
            return False
        statuses = re.findall(r"^HTTP/1.1 (\d+)", response.text, re.M)
        if statuses != ["204"] * len(group):
            self.problems.append(f"wrong: a batch got {response.text}")
            return False
        self.batches += 1
        etags = re.findall(r"^ETag: (.*?)\r?$", response.text, re.M) or [None] * len(group)
        for key, row, etag in zip(group, rows, etags):
            row.states = row.states[1:]
            if drop:
                row.exact = None
            else:
                self.acknowledge(key, row, etag)
        return True

    def append(self, client):
        """A row that is never touched again."""
        key, number = (f"log{self.index:03}", f"{self.next_number():09}"), self.number
        state = {"Number": number}
        row = self.log[key] = Row()
        row.states = [None, state]
        response = self.send(client, [204], "POST", f"/{TABLE}", state | {"PartitionKey": key[0], "RowKey": key[1]})
        if response is None:
            return False
        row.states = [state]
        self.acknowledge(key, row, response.headers["ETag"])
        return True

    def change_table(self, client):
        name = self.random.choice(list(self.tables))
        exists = self.tables[name][0]
        self.tables[name] = [exists, not exists]
        request = ("DELETE", f"/Tables('{name}')") if exists else ("POST", "/Tables", {"TableName": name})
        if self.send(client, [204], *request) is None:
            return False
        self.tables[name] = [not exists]
        return True

    # --- verifying

    def verify(self, tables, rows):
        """Compares the expected state with the actual one, which is the expected state from then on."""
        problems = []
        for name, states in self.tables.items():
            if (name in tables) not in states:
                problems.append(f"lost: table {name} is there: {name in tables}, wanted {states}")
            self.applied += len(states) == 2 and (name in tables) == states[1]
            self.tables[name] = [name in tables]
        for group in self.groups:
            found = [rows.get(key, {}).get("Batch") for key in group]
            versions = {rows[key]["odata.etag"] for key in group if key in rows}
            if len(set(found)) > 1 or len(versions) > 1:
                problems.append(f"torn: {group[0]} and the others of its batch have {found} of {versions}")
            self.applied += len(self.group_rows[group[0]].states) == 2 and found[0] == self.number
        logs = {} if self.log_seen is None else self.log
        for key, row in [*self.rows.items(), *self.group_rows.items(), *logs.items()]:
            problems += self.verify_row(key, row, rows.get(key))
        self.log_seen = None
        return problems

    def verify_row(self, key, row, there):
        found = None
        if there is not None:
            hidden = ("PartitionKey", "RowKey", "Timestamp")
            found = {name: value for name, value in there.items() if name not in hidden and "odata." not in name}
        problems = []
        if found not in row.states:
            problems.append(f"lost: {key} is {brief(found)}, wanted {' or '.join(map(brief, row.states))}")
        if key in self.rows or key in self.log:
            self.applied += len(row.states) == 2 and row.states[0] != row.states[1] and found == row.states[1]
        if there is not None:
            etag, version = there["odata.etag"], ticks(there["odata.etag"])
            if row.exact and found == row.states[0] and len(row.states) == 1 and etag != row.exact:
                problems.append(f"wrong: {key} has ETag {etag}, acknowledged was {row.exact}")
            if version < row.version:
                problems.append(f"wrong: {key} has version {version}, was {row.version}")
            if there["Timestamp"].replace(":", "%3A") not in etag:
                problems.append(f"wrong: {key} has timestamp {there['Timestamp']} and ETag {etag}")
            row.version, row.exact = max(version, row.version), etag
        else:
            row.exact = None
        row.states = [found]
        return problems


def brief(state):
    text = json.dumps(state)
    return text if len(text) < 120 else text[:120] + "..."


def operation(client, method, key, body):
    url = f"http://{client.connection.host}/{client.account}{entity_path(TABLE, *key)}"
    head = f"{method} {url} HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n"
    if body is None:
        return head + "If-Match: *\r\n\r\n"
    return head + f"Content-Type: application/json\r\n\r\n{json.dumps(body)}"


def envelope(operations):
    start = "--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n"
    part = "--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    return start + "".join(f"{part}{text}\r\n" for text in operations) + "--changeset_c--\r\n--batch_b--\r\n"
