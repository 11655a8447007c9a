"""The protected blobs of one client in the crash tests: what it does. kept.py says what must be found after a crash.

As in blobs.py, the client knows the state of its container, or two states while an outcome is unknown.
"""

import base64
import urllib.parse

from kept import BIN, BOX, CURRENT, DELETED, PAST, THING, KeptBlobs, State, md5

# In the row; in a pack, as one piece; in a pack, as several pieces. The number of the content is added.
SIZES = (0, 300, 20_000, 150_000)
APPEND_BYTES_MAX = 40_000
NAMES = 3
# States of a blob: with more of them, the client deletes some.
STATES_MAX = 8
# Nothing limits the states of the blob in the container that is deleted and restored. After this number of uses it is not written.
BOX_USES_MAX = 150
UNTIL = "Fri, 01 Jan 2100 00:00:00 GMT"


class Protected(KeptBlobs):
    """Operations return False when their outcome is unknown."""

    def each(self):
        """Every operation."""
        one, other = "block-0", "block-1"
        return [lambda client, do=do, names=names: do(client, *names) for do, *names in (
            (self.put, one), (self.put, one), (self.commit, other), (self.append,), (self.append,), (self.set_number, one),
            (self.snapshot, one), (self.set_tier, other), (self.set_tier, other), (self.protect, other),
            (self.promote, one), (self.delete, one), (self.undelete, one), (self.delete_past, one), (self.purge, one),
            (self.use_box,), (self.use_box,), (self.use_box,), (self.use_box,), (self.delete, one))]

    def choose(self):
        choices = {self.put: 5, self.commit: 2, self.append: 2, self.set_number: 2, self.snapshot: 2, self.set_tier: 3,
                   self.protect: 3, self.promote: 2, self.delete: 4, self.undelete: 4, self.delete_past: 2, self.purge: 2,
                   self.use_box: 2}
        return self.random.choices(list(choices), list(choices.values()))[0]

    def change(self, client, name, states, wanted, method, query="", body=None, headers=None, event=None):
        """Sends a change after which a blob has these states."""
        before = self.worlds[0]
        after = {other: found for other, found in before.items() if other != name} | ({name: states} if states else {})
        container, blob = (self.box, THING) if name == BOX else (self.container, name)
        self.worlds, self.event = [before, after], event and (container, blob, event)
        path = query if name == BOX else f"/{container}/{name}{query}"
        response = self.send(client, [wanted], method, path, body, headers)
        if response is not None:
            self.settle(after)
        return response is not None

    def may_write(self, name):
        """Can there be another state in place of the current one?"""
        current = self.current(name)
        is_free = current is None or not current.guard and current.tier != "Archive"
        return is_free and name not in self.thawing and len(self.states(name)) < STATES_MAX

    def replaced(self, name):
        """The states of a blob before a new one."""
        after = {CURRENT: PAST if self.has_versions else DELETED, BIN: DELETED}
        return tuple(state._replace(life=after.get(state.life, state.life)) for state in self.states(name))

    def pick(self, suits, name=None):
        """The name, the position and the state of a state that matches; three times None if there is none."""
        found = [(other, position, state) for other, states in self.worlds[0].items()
                 if other != BOX and other not in self.thawing and name in (None, other)
                 for position, state in enumerate(states) if suits(state)]
        return self.random.choice(found) if found else (None, None, None)

    def reference(self, client, name, position):
        """The parameter that names a version or snapshot. The blob itself has none."""
        return list(self.listed(client, name)[name])[position]

    def block(self):
        return f"block-{self.random.randrange(NAMES)}"

    def fresh(self, kind, content):
        number = self.next_number()
        return State(CURRENT, kind, content, number, str(number), "Hot" if kind == "BlockBlob" else "")

    def content(self):
        return self.bytes(self.random.choice(SIZES) + self.number)

    def put(self, client, name=None):
        name = name or self.block()
        if not self.may_write(name):
            return self.purge(client, name)
        state = self.fresh("BlockBlob", self.content())
        return self.change(client, name, (*self.replaced(name), state), 201, "PUT", "", state.content,
                           described(state) | {"x-ms-blob-type": "BlockBlob"}, ("PutBlob", len(state.content), None))

    def commit(self, client, name=None):
        name = name or self.block()
        if not self.may_write(name):
            return self.purge(client, name)
        ids = [base64.b64encode(f"{index:03}".encode()).decode() for index in range(2)]
        pieces = [self.content() + b"." for _ in ids]
        for one, piece in zip(ids, pieces):
            path = f"/{self.container}/{name}?comp=block&blockid={urllib.parse.quote(one, safe='')}"
            if self.send(client, [201], "PUT", path, piece) is None:
                return False
        state = self.fresh("BlockBlob", b"".join(pieces))
        body = "<BlockList>" + "".join(f"<Latest>{one}</Latest>" for one in ids) + "</BlockList>"
        headers = described(state) | {"x-ms-blob-content-md5": md5(state.content)}
        return self.change(client, name, (*self.replaced(name), state), 201, "PUT", "?comp=blocklist", body, headers,
                           ("PutBlockList", len(state.content), None))

    def append(self, client):
        name = "append"
        if not self.may_write(name):
            return self.purge(client, name)
        current = self.current(name)
        if current is None:
            state = self.fresh("AppendBlob", b"")
            return self.change(client, name, (*self.replaced(name), state), 201, "PUT", "", b"",
                               described(state) | {"x-ms-blob-type": "AppendBlob"}, ("PutBlob", 0, None))
        more = self.bytes(self.random.randint(1, APPEND_BYTES_MAX))
        state = current._replace(content=current.content + more)
        return self.change(client, name, (*self.states(name)[:-1], state), 201, "PUT", "?comp=appendblock", more)

    def set_number(self, client, name=None):
        """New metadata makes a version, but keeps nothing without versions."""
        name, _, state = self.pick(lambda state: state.life == CURRENT and not state.guard, name)
        if name is None or not self.may_write(name):
            return True
        before = self.replaced(name) if self.has_versions else self.states(name)[:-1]
        state = state._replace(number=self.next_number())
        return self.change(client, name, (*before, state), 200, "PUT", "?comp=metadata", None, {"x-ms-meta-n": state.number})

    def snapshot(self, client, name=None):
        name, _, state = self.pick(lambda state: state.life == CURRENT and not self.has_versions, name)
        if name is None or not self.may_write(name):
            return True
        return self.change(client, name, (*self.states(name)[:-1], state._replace(life=PAST), state), 201, "PUT", "?comp=snapshot")

    def promote(self, client, name=None):
        """Copies a version or snapshot over its blob."""
        name, position, old = self.pick(
            lambda state: state.life == PAST and state.tier not in ("", "Archive"), name)
        if name is None or not self.may_write(name):
            return True
        source = f"{client.account}/{self.container}/{name}{self.reference(client, name, position)}"
        state = self.fresh("BlockBlob", old.content)
        headers = described(state) | {"x-ms-copy-source": f"http://{client.connection.host}:{client.connection.port}/{source}"}
        return self.change(client, name, (*self.replaced(name), state), 202, "PUT", "", b"", headers,
                           ("CopyBlob", len(state.content), None))

    def set_tier(self, client, name=None):
        name, _, state = self.pick(lambda state: state.life == CURRENT and state.tier, name)
        if name is None:
            return True
        is_leaving = state.tier == "Archive"
        tier = self.random.choice([tier for tier in ("Hot", "Cool", "Archive") if tier != state.tier])
        if is_leaving:
            self.thawing.add(name)
        return self.change(client, name, (*self.states(name)[:-1], state._replace(tier=tier)), 202 if is_leaving else 200,
                           "PUT", "?comp=tier", None, {"x-ms-access-tier": tier}, ("SetBlobTier", len(state.content), tier))

    def protect(self, client, name=None):
        """A hold or a policy, or the end of one."""
        name, position, state = self.pick(lambda state: state.life in (CURRENT, PAST), name)
        if name is None:
            return True
        guard = "" if state.guard else self.random.choice(("hold", "policy"))
        states = list(self.states(name))
        states[position] = state._replace(guard=guard)
        reference = self.reference(client, name, position).replace("?", "&")
        if "hold" in (guard, state.guard):
            return self.change(client, name, tuple(states), 200, "PUT", "?comp=legalhold" + reference, None,
                               {"x-ms-legal-hold": "true" if guard else "false"})
        headers = {"x-ms-immutability-policy-until-date": UNTIL, "x-ms-immutability-policy-mode": "Unlocked"}
        return self.change(client, name, tuple(states), 200, "PUT" if guard else "DELETE",
                           "?comp=immutabilityPolicies" + reference, None, headers if guard else None)

    def delete(self, client, name=None):
        """Versions stay; snapshots go with their blob."""
        name, _, state = self.pick(lambda state: state.life == CURRENT and not state.guard, name)
        if name is None or not self.has_versions and any(state.guard for state in self.states(name)):
            return True
        after = {CURRENT: PAST} if self.has_versions else {CURRENT: BIN, PAST: DELETED}
        states = tuple(state._replace(life=after.get(state.life, state.life)) for state in self.states(name))
        headers = None if self.has_versions else {"x-ms-delete-snapshots": "include"}
        return self.change(client, name, states, 202, "DELETE", "", None, headers, ("DeleteBlob", None, None))

    def undelete(self, client, name=None):
        """Restores everything that is deleted."""
        name, _, _ = self.pick(lambda state: state.life in (DELETED, BIN), name)
        if name is None:
            return True
        after = {DELETED: PAST, BIN: CURRENT}
        states = tuple(state._replace(life=after.get(state.life, state.life)) for state in self.states(name))
        return self.change(client, name, states, 200, "PUT", "?comp=undelete")

    def delete_past(self, client, name=None):
        name, position, state = self.pick(lambda state: state.life == PAST and not state.guard, name)
        if name is None:
            return True
        states = list(self.states(name))
        states[position] = state._replace(life=DELETED)
        return self.change(client, name, tuple(states), 202, "DELETE", self.reference(client, name, position))

    def purge(self, client, name=None):
        """Permanently deletes something that is already deleted, or else deletes something that can be purged later."""
        name, position, _ = self.pick(lambda state: state.life == DELETED, wanted := name)
        if name is None:
            return self.delete_past(client, wanted)
        states = self.states(name)
        return self.change(client, name, states[:position] + states[position + 1:], 202, "DELETE",
                           self.reference(client, name, position) + "&deletetype=permanent")

    def use_box(self, client):
        """Makes another container, fills, deletes or restores it."""
        self.box_uses += 1
        found, path = self.states(BOX), f"/{self.box}?restype=container"
        if not found:
            return self.change(client, BOX, (State(CURRENT, BOX, b""),), 201, "PUT", path)
        state = found[0]
        if state.life == BIN:
            headers = {"x-ms-deleted-container-name": self.box, "x-ms-deleted-container-version": self.box_item(client).findtext("Version")}
            return self.change(client, BOX, (state._replace(life=CURRENT),), 201, "PUT", path + "&comp=undelete", None, headers)
        if state.content and (self.box_uses > BOX_USES_MAX or self.box_uses % 3 == 0):
            return self.change(client, BOX, (state._replace(life=BIN),), 202, "DELETE", path)
        content = self.bytes(SIZES[2] + self.number)
        return self.change(client, BOX, (state._replace(content=content),), 201, "PUT", f"/{self.box}/{THING}", content,
                           {"x-ms-blob-type": "BlockBlob"}, ("PutBlob", len(content), None))


def described(state):
    tier = {"x-ms-access-tier": state.tier} if state.tier else {}
    return {"x-ms-meta-n": state.number, "x-ms-tags": f"n={state.tag}"} | tier
