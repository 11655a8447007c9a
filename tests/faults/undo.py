"""Reverts everything that was not synced, as a loss of power does.

The preloaded library (shim/) logs what every write destroyed, what was in every directory after every change, and every sync.
This undoes the writes after the last sync of each file, newest first, and restores the names that each directory had at its
last sync: nothing else was promised. Since a disk may also write by itself, a variant keeps the oldest few changes of each
file and directory.

This follows POSIX literally: a name that was made, replaced or removed is durable when its directory was synced,
whether or not the file's content was; and a sync of one directory says nothing about another.
"""

import os
import shutil


class Log:
    """The changes that were not synced when the power was lost."""

    def __init__(self, folder):
        # The number of the directory that all others are in.
        self.root = None
        # Writes of each file, oldest first: (length, offset, bytes before).
        self.writes = {}
        # Listings of each directory, {name: (kind, number)}: the durable one, and those of later changes.
        self.listings = {}
        try:
            with open(os.path.join(folder, "log"), "rb") as log:
                while (line := log.readline()).endswith(b"\n") and self.take(log, *line.split()):
                    pass
        except FileNotFoundError:
            pass

    def take(self, log, kind, inode, *rest):
        """Reads one record. False if the kill cut the log itself: the event that the rest would describe did not
        happen, or may not have."""
        inode, rest = int(inode), [int(number) for number in rest]
        if kind == b"S":
            self.writes.pop(inode, None)
            return True
        there = log.read(rest[-1])
        if len(there) < rest[-1]:
            return False
        if kind == b"W":
            self.writes.setdefault(inode, []).append((rest[0], rest[1], there))
            return True
        self.root = self.root or inode
        entries = [entry.split(b" ", 2) for entry in there.split(b"\0")[:-1]]
        listing = {name: (kind, int(number)) for kind, number, name in entries}
        is_synced = rest[0]
        self.listings[inode] = [listing] if is_synced else self.listings.get(inode, []) + [listing]
        return True


class PowerLoss:
    def __init__(self, folder, random):
        self.folder, self.random, self.log = folder, random, Log(folder)
        self.lost_writes = self.lost_names = 0

    def first(self, steps):
        """The number of steps that the disk did by itself."""
        return self.random.randrange(steps + 1) if self.random else 0

    def put_back(self, path, inode):
        """Restores the names of a directory, and of those in it."""
        listings = self.log.listings.get(inode)
        if not listings:
            return
        wanted = listings[self.first(len(listings) - 1)]
        for entry in list(os.scandir(path)):
            kind = b"d" if entry.is_dir(follow_symlinks=False) else b"f"
            if wanted.get(entry.name) != (kind, entry.inode()):
                shutil.rmtree(entry.path) if kind == b"d" else os.remove(entry.path)
                self.lost_names += 1
        for name, (kind, number) in wanted.items():
            below = os.path.join(path, name)
            if not os.path.lexists(below):
                self.lost_names += 1
                if kind == b"f":
                    os.link(os.path.join(os.fsencode(self.folder), b"%d" % number), below)
                else:
                    os.mkdir(below, 0o700)
            if kind == b"d":
                self.put_back(below, number)

    def undo_writes(self, path):
        writes = self.log.writes.get(os.stat(path).st_ino)
        if not writes:
            return
        undone = writes[self.first(len(writes)):]
        with open(path, "r+b") as file:
            for length, offset, before in reversed(undone):
                file.seek(offset)
                file.write(before)
                file.truncate(length)
        self.lost_writes += len(undone)


def lose_power(folder, directory, random=None, writes_stay=False):
    """Undoes it all below the directory, or all but the oldest few, and forgets the log. Returns how much was lost.

    With `writes_stay` the disk has written all contents by itself, and no names.
    """
    loss = PowerLoss(folder, random)
    if loss.log.root:
        loss.put_back(os.fsencode(directory), loss.log.root)
    for below, _, names in os.walk(directory):
        for name in names if not writes_stay else ():
            loss.undo_writes(os.path.join(below, name))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return loss
