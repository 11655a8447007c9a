"""A database whose history went back: front ends that have used the newer one reject the older one.

Two servers, the second a copy that is promoted. The first then comes back as if it led, without what the second has
acknowledged: as after a deposed agent that has not noticed (docs/scale-out.md).
"""

import subprocess
import time

from lazuli import Client, Server, entity_path
from postgres import Postgres

TABLE = "history"
# A front end looks for another server for 10 s before it gives up.
TIMEOUT = 60
REJECTIONS = [(500, "InternalError"), (503, "ServerBusy")]
REJECTED = "its timeline is older than one that was used before"


class Copy(Postgres):
    """A standby of another server, until it is promoted."""

    def __init__(self, other):
        self.other = other
        super().__init__()

    def make(self):
        self.run("pg_basebackup", "-d", self.other.url(), "-D", self.data, "-R", "--checkpoint=fast", "--no-sync")

    def wait_until_level(self):
        """Waits until it has all that the other server has."""
        there = self.other.sql("SELECT pg_current_wal_lsn()")
        end = time.monotonic() + TIMEOUT
        while self.sql(f"SELECT pg_last_wal_replay_lsn() >= '{there}'") != "t":
            if time.monotonic() > end:
                raise SystemExit("the standby does not follow")
            time.sleep(0.02)

    def promote(self):
        self.run("pg_ctl", "-D", self.data, "-w", "promote", stdout=subprocess.DEVNULL)


def asked(server, method, row, body=None):
    with Client(server, timeout=TIMEOUT) as client:
        return client.ask(method, entity_path(TABLE, "p", row), body)


def until(status, server, method, row, body=None):
    """Repeats the request until the response is the expected one: servers change in the meantime."""
    end = time.monotonic() + TIMEOUT
    while True:
        response = asked(server, method, row, body)
        if response.status == status:
            return response
        if response.status < 500 or time.monotonic() > end:
            raise SystemExit(f"{method} {row}: {response.status} {response.text}, expected {status}")


def rejected(server, method, row, body=None):
    response = asked(server, method, row, body)
    # Not OperationTimedOut: nothing was sent, so nothing is unknown. A request that waited too long for a connection gets the
    # error that the server is busy.
    if not any(response.status == status and code in response.text for status, code in REJECTIONS):
        raise SystemExit(f"{method} {row} on the older history: {response.status} {response.text}")


def run(binary):
    with Postgres() as first:
        first.database("history")
        with Copy(first) as second:
            url = f"postgres://lazuli@127.0.0.1:{first.port},127.0.0.1:{second.port}/history?pool=4"
            front = Server(binary, "--engine", url)
            try:
                there_and_back(first, second, front)
                later_wins(first, second, Server(binary, "--engine", url))
            finally:
                front.close()


def there_and_back(first, second, front):
    """Connects the front end to the newer history, then to the older one, and then to the newer one again."""
    with Client(front) as client:
        created = client.ask("POST", "/Tables", {"TableName": TABLE})
    if created.status != 204:
        raise SystemExit(f"no table: {created.status} {created.text}")
    until(204, front, "PUT", "before", {"n": 1})
    second.wait_until_level()
    first.stop()
    second.promote()
    until(204, front, "PUT", "after", {"n": 2})
    # The one that was deposed comes back, and the newer one is gone.
    second.stop()
    first.start()
    rejected(front, "GET", "before")
    rejected(front, "PUT", "lost", {"n": 3})
    if REJECTED not in front.said():
        raise SystemExit(f"the log does not say why: {front.said()}")
    # The newer history again: nothing was lost and nothing was added.
    second.start()
    for row, status in (("before", 200), ("after", 200), ("lost", 404)):
        until(status, front, "GET", row)


def later_wins(first, second, fresh):
    """Both take writes: a front end that has seen neither uses the later one."""
    try:
        for server in (first, second):
            if server.sql("SELECT pg_is_in_recovery()") != "f":
                raise SystemExit("both servers should take writes")
        until(200, fresh, "GET", "after")
    finally:
        fresh.close()
