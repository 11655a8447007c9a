"""Takes back what was not synced, as a loss of power does.

The preloaded library (shim/) logs what every write destroyed and every sync. Here the writes behind the last sync of each
file are undone, newest first: all of them, or, as a disk may have kept any of them, all but a random few of each file.
"""

import os


def read_log(path):
    """The writes behind the last sync of each file: {inode: [(length, offset, bytes)]}, oldest first."""
    pending = {}
    try:
        with open(path, "rb") as log:
            while line := log.readline():
                kind, inode, *rest = line.split()
                if kind == b"S":
                    pending.pop(int(inode), None)
                    continue
                length, offset, count = map(int, rest)
                before = log.read(count)
                if len(before) < count:
                    break  # the kill met the log itself; that write did not happen
                if length == 0:
                    pending.pop(int(inode), None)  # a new file, perhaps with the number of a deleted one
                pending.setdefault(int(inode), []).append((length, offset, before))
    except FileNotFoundError:
        pass
    return pending


def lose_power(log, directory, random=None):
    """Undoes them in the files below the directory, and forgets the log. Returns how many writes were lost."""
    pending, lost = read_log(log), 0
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            writes = pending.get(os.stat(path).st_ino)
            if not writes:
                continue
            # With a given chance the oldest few were written by the disk on its own.
            kept = random.randrange(len(writes) + 1) if random else 0
            with open(path, "r+b") as file:
                for length, offset, before in reversed(writes[kept:]):
                    file.seek(offset)
                    file.write(before)
                    file.truncate(length)
                    lost += 1
    if os.path.exists(log):
        os.remove(log)
    return lost
