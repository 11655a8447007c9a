"""`lazuli container|blob`: containers and blobs on a server, by a token, and in a stopped store; transfers that resume."""

import base64
import hashlib
import json
import os
import urllib.parse
import urllib.request

from common import Shell, connection_string, contains, equal, free_port, serve, serve_memory
from lazuli import HANG_SECONDS

MIB = 1024 * 1024


def write(directory, name, content):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def read(directory, name):
    with open(os.path.join(directory, name), "rb") as file:
        return file.read()


def large(seed, length):
    """Bytes without repetition."""
    block = b"".join(hashlib.sha256(f"{seed}{n}".encode()).digest() for n in range(1024))
    return (block * (length // len(block) + 1))[:length]


def names(shell, path, *args):
    return [row["Name"] for row in shell.rows("blob", "list", path, *args)]


def daily_work(shell):
    equal(shell("container", "exists", "files", code=3), "false\n")
    contains(shell("blob", "list", "files", code=3), "ContainerNotFound")
    shell("container", "create", "files", "--metadata", "owner=ada")
    contains(shell("container", "create", "files", code=4), "ContainerAlreadyExists")
    shell("container", "create", "files", "--if-missing")
    listed = shell.rows("container", "list", "--prefix", "f")
    equal([(row["Name"], row["Metadata"]) for row in listed], [("files", {"owner": "ada"})])
    write(shell.directory, "a b.txt", b"hello")
    equal(shell("blob", "upload", "a b.txt", "files"), "1 blob uploaded, 5 bytes\n")
    equal(shell("blob", "upload", "a b.txt", "files"), "0 blobs uploaded, 0 bytes, 1 unchanged\n")
    write(shell.directory, "a b.txt", b"hallo")
    contains(shell("blob", "upload", "a b.txt", "files", code=4), "--overwrite")
    shell("blob", "upload", "a b.txt", "files", "--overwrite", "--quiet", "--metadata", "k=v")
    shell("blob", "upload", "a b.txt", "files/dir/c.html")
    blob = shell.rows("blob", "list", "files")[0]
    equal((blob["Name"], blob["Length"], blob["ContentType"]), ("a b.txt", 5, "text/plain"))
    equal(names(shell, "files", "--delimiter", "/"), ["a b.txt", "dir/"])
    equal(names(shell, "files/dir/"), ["dir/c.html"])
    shown = json.loads(shell("blob", "show", "files/a b.txt"))
    equal((shown["x-ms-meta-k"], shown["Content-MD5"]), ("v", base64.b64encode(hashlib.md5(b"hallo").digest()).decode()))
    equal(shell("blob", "download", "files/a b.txt", "-"), "hallo")
    shell("blob", "download", "files/a b.txt", "copy.txt")
    equal(read(shell.directory, "copy.txt"), b"hallo")
    snapshot = shell("blob", "snapshot", "files/a b.txt").strip()
    write(shell.directory, "a b.txt", b"later")
    shell("blob", "upload", "a b.txt", "files", "--overwrite", "--quiet")
    equal(shell("blob", "download", "files/a b.txt", "-", "--snapshot", snapshot), "hallo")
    equal(len(shell.rows("blob", "list", "files/a", "--include", "snapshots")), 2)
    shell("blob", "copy", "files/a b.txt", "files/dir/copy")
    equal(shell("blob", "download", "files/dir/copy", "-"), "later")
    lease = shell("blob", "lease", "acquire", "files/dir/copy", "--duration", "60").strip()
    contains(shell("blob", "delete", "files/dir/copy", code=4), "LeaseIdMissing")
    equal(shell("blob", "lease", "renew", "files/dir/copy", "--lease-id", lease).strip(), lease)
    shell("blob", "delete", "files/dir/copy", "--lease-id", lease)
    contains(shell("blob", "delete", "files/dir/copy", code=3), "BlobNotFound")
    shell("blob", "delete", "files/dir/copy", "--if-exists")
    contains(shell("blob", "delete", "files/a b.txt", code=4), "SnapshotsPresent")
    shell("blob", "delete", "files/a b.txt", "--snapshots", "include")
    equal(shell("blob", "exists", "files/a b.txt", code=3), "false\n")
    equal(shell("blob", "delete", "files", "--recursive"), "1 blob deleted\n")
    lease = shell("container", "lease", "acquire", "files").strip()
    contains(shell("container", "delete", "files", code=4), "LeaseIdMissing")
    shell("container", "delete", "files", "--lease-id", lease)
    shell("container", "delete", "files", "--if-exists")


def test_blobs_on_a_server(binary, directory):
    with serve_memory(binary, directory) as server:
        daily_work(Shell(binary, directory, server))


def test_blobs_of_a_stopped_server(binary, directory):
    with serve(binary, directory) as server:
        equal(server.stop(), 0)
    daily_work(Shell(binary, directory, store=os.path.join(directory, "data")))


def test_directories_are_uploaded_and_downloaded(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        content = {f"d{n % 3}/e/{n}.txt": f"content {n}".encode() for n in range(20)}
        content |= {"empty": b"", "\u00fc %41?&.bin": b"odd name", "large.bin": large("a", 9 * MIB + 5)}
        for name, data in content.items():
            write(directory, os.path.join("tree", name), data)
        os.symlink(os.path.join(directory, "tree"), os.path.join(directory, "tree", "loop"))
        contains(shell("blob", "upload", "tree", "files/top"), "23 blobs uploaded")
        equal(sorted(names(shell, "files")), sorted(f"top/{name}" for name in content))
        contains(shell("blob", "upload", "tree", "files/top"), "0 blobs uploaded, 0 bytes, 23 unchanged")
        contains(shell("blob", "download", "files/top/", "out", "--recursive"), "23 blobs downloaded")
        for name, data in content.items():
            equal(read(directory, os.path.join("out/top", name)), data, name)
        os.remove(os.path.join(directory, "out/top/empty"))
        equal(shell("blob", "download", "files", "out", "-r"), "1 blob downloaded, 0 bytes, 22 unchanged\n")
        found = [name for _, _, files in os.walk(os.path.join(directory, "out")) for name in files]
        equal(sorted(found), sorted(name.split("/")[-1] for name in content), "nothing incomplete is left")


def test_an_interrupted_upload_sends_only_missing_blocks(binary, directory):
    """The blocks of the first part are staged by hand, as an upload that was killed leaves them."""
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        data = large("b", 10 * MIB)
        write(directory, "large.bin", data)
        url = shell("blob", "url", "files/large.bin", "--permissions", "cw").strip()
        for index in (0, 2):
            block = data[index * 4 * MIB:(index + 1) * 4 * MIB]
            md5 = base64.b64encode(hashlib.md5(block).digest()).decode()
            block_id = base64.b64encode(f"{index:08}-{md5}".encode()).decode()
            request = urllib.request.Request(f"{url}&comp=block&blockid={urllib.parse.quote(block_id, safe='')}", block, method="PUT")
            urllib.request.urlopen(request, timeout=HANG_SECONDS).close()
        equal(shell("blob", "upload", "large.bin", "files"), "1 blob uploaded, 4.0 MiB\n")
        shell("blob", "download", "files/large.bin", "back.bin", "--connections", "2")
        equal(read(directory, "back.bin") == data, True)


def part(name):
    """Where a download keeps a file that is not complete."""
    return os.path.join(".lazuli-parts", hashlib.md5(name.encode()).hexdigest())


def test_a_download_destroys_no_file_of_another_name(binary, directory):
    """A download wrote to NAME.part first, so the download of blob a destroyed the file of blob a.part, or one of the
    user."""
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        content = {name: f"content of {name}".encode() for name in ("a", "a.part", "a.part-state", "d/a", "d/a.part")}
        content |= {"large": large("d", 5 * MIB), "large.part": b"small", "large.part-state": b"state"}
        for name, data in content.items():
            write(directory, os.path.join("tree", name), data)
        shell("blob", "upload", "tree", "files")
        write(directory, "out/user.part", b"the user's")
        # First in the order in which the file of the other name already exists, then in the order of the listing.
        for name in ("a.part", "a.part-state", "large.part", "large.part-state"):
            shell("blob", "download", f"files/{name}", "out")
        shell("blob", "download", "files/large", "out")
        shell("blob", "download", "files/a", "out/user")
        contains(shell("blob", "download", "files", "out", "--recursive", "--connections", "1"), "3 blobs downloaded")
        for name, data in (content | {"user": content["a"], "user.part": b"the user's"}).items():
            equal(read(directory, os.path.join("out", name)) == data, True, name)
        found = [name for _, folders, files in os.walk(os.path.join(directory, "out")) for name in folders + files]
        equal(len(found), len(content) + 3, found)


def test_incomplete_downloads_are_neither_blobs_nor_files(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, os.path.join("tree", part("a")), b"incomplete")
        write(directory, "tree/a", b"whole")
        shell("blob", "upload", "tree", "files")
        equal(names(shell, "files"), ["a"])
        shell("blob", "upload", "tree/a", f"files/{part('a')}")
        contains(shell("blob", "download", "files", "out", "--recursive", code=1), "incomplete files")
        contains(shell("blob", "download", "files/a", ".Lazuli-Parts/a", code=1), "incomplete files")
        equal(sorted(os.listdir(directory)), ["out", "tree"])


def test_an_interrupted_download_is_resumed(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        data = large("c", 9 * MIB)
        write(directory, "large.bin", data)
        shell("blob", "upload", "large.bin", "files")
        etag = json.loads(shell("blob", "show", "files/large.bin"))["ETag"]
        endpoint = connection_string(server).split("BlobEndpoint=")[1].split(";")[0]
        purpose = {"download": "files/large.bin", "from": endpoint, "snapshot": None, "etag": etag, "bytes": len(data)}
        state = json.dumps({"version": 1, "purpose": purpose, "content": {"ranges": 2}}).encode()
        write(directory, part("back.bin"), data[:8 * MIB] + bytes(MIB))
        write(directory, part("back.bin") + ".state", state)
        equal(shell("blob", "download", "files/large.bin", "back.bin"), "1 blob downloaded, 1.0 MiB\n")
        equal(read(directory, "back.bin") == data, True)
        # A partial download of another version of the blob is not used.
        write(directory, part("again.bin"), bytes(len(data)))
        write(directory, part("again.bin") + ".state", state.replace(etag.strip('"').encode(), b"0x1"))
        equal(shell("blob", "download", "files/large.bin", "again.bin"), "1 blob downloaded, 9.0 MiB\n")
        equal(sorted(os.listdir(directory)), ["again.bin", "back.bin", "large.bin"])


def test_content_with_a_wrong_md5_is_not_kept(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        url = shell("blob", "url", "files/x", "--permissions", "cw").strip()
        wrong = base64.b64encode(bytes(16)).decode()
        body = b"<BlockList><Latest>QQ==</Latest></BlockList>"
        for query, data, headers in (("comp=block&blockid=QQ%3D%3D", b"content", {}),
                                     ("comp=blocklist", body, {"x-ms-blob-content-md5": wrong, "x-ms-version": "2021-12-02"})):
            request = urllib.request.Request(f"{url}&{query}", data, headers, method="PUT")
            urllib.request.urlopen(request, timeout=HANG_SECONDS).close()
        contains(shell("blob", "download", "files/x", "out", code=1), "MD5", wrong)
        equal(os.listdir(directory), [])


def test_names_that_leave_the_directory_are_not_files(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, "in/x", b"x")
        shell("blob", "upload", "in/x", "files/a/../../evil")
        if names(shell, "files") == ["evil"]:
            return  # The server resolves such names, so there is nothing to reject.
        contains(shell("blob", "download", "files", "out", "--recursive", code=1), "cannot be a file")
        equal(os.path.exists(os.path.join(directory, "evil")), False)


def test_standard_input_becomes_a_blob(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        data = large("d", 5 * MIB)
        contains(shell("blob", "upload", "-", "files/data.bin", stdin=data), "1 blob uploaded, 5.0 MiB")
        shell("blob", "download", "files/data.bin", ".")
        equal(read(directory, "data.bin") == data, True)
        contains(shell("blob", "upload", "-", "files", code=1), "CONTAINER/NAME")


def test_urls_are_signed_on_demand(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, "a b", b"hello")
        shell("blob", "upload", "a b", "files")
        url = shell("blob", "url", "files/a b", "--permissions", "r", "--expires", "10m").strip()
        with urllib.request.urlopen(url, timeout=HANG_SECONDS) as response:
            equal(response.read(), b"hello")
        contains(shell("blob", "url", "files/a b"), "/files/a%20b\n")
        contains(shell("blob", "url", "files", "--permissions", "x!", code=1), "permissions")
        guest = Shell(binary, directory)
        container = shell("blob", "url", "files", "--permissions", "rl").strip()
        guest.env = {"AZURE_STORAGE_CONNECTION_STRING": container}
        equal(names(guest, "files"), ["a b"])
        guest("blob", "download", "files/a b", "copy")
        guest("blob", "delete", "files/a b", code=5)


def test_tags_and_tiers(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, "x", b"x")
        shell("blob", "upload", "x", "files")
        equal(json.loads(shell("blob", "tags", "files/x")), {})
        shell("blob", "tags", "files/x", "project=blue", "year=2026")
        equal(json.loads(shell("blob", "tags", "files/x")), {"project": "blue", "year": "2026"})
        shell("blob", "tags", "files/x", "--clear")
        equal(json.loads(shell("blob", "tags", "files/x")), {})
        shell("blob", "tier", "files/x", "Cool")
        equal(shell.rows("blob", "list", "files")[0]["AccessTier"], "Cool")


def test_append_blobs_grow(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, "one.log", b"one\n")
        contains(shell("blob", "append", "one.log", "files/app.log", "--no-create", code=3), "BlobNotFound")
        shell("blob", "append", "one.log", "files/app.log")
        shell("blob", "append", "-", "files/app.log", stdin=b"two\n")
        equal(shell("blob", "download", "files/app.log", "-"), "one\ntwo\n")
        equal(json.loads(shell("blob", "show", "files/app.log"))["x-ms-blob-type"], "AppendBlob")
        shell("blob", "append", "one.log", "files/app.log", "--seal")
        contains(shell("blob", "append", "one.log", "files/app.log", code=4), "BlobIsSealed")
        data = large("e", 9 * MIB)
        write(directory, "big.log", data)
        contains(shell("blob", "upload", "big.log", "files", "--type", "append"), "1 blob uploaded, 9.0 MiB")
        contains(shell("blob", "upload", "big.log", "files", "--type", "append", code=4), "--overwrite")
        shell("blob", "append", "one.log", "files/big.log")
        shell("blob", "download", "files/big.log", "copy.log")
        equal(read(directory, "copy.log") == data + b"one\n", True)
        contains(shell("blob", "upload", "-", "files/input.log", "--type", "append", stdin=data), "9.0 MiB")
        contains(shell("blob", "upload", "-", "files/input.log", "--type", "append", stdin=data, code=4), "--overwrite")


def test_page_blobs_are_sparse(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        disk = bytes(5 * MIB) + large("p", 512) + bytes(4 * MIB - 512)
        write(directory, "disk", disk)
        shell("blob", "upload", "disk", "files", "--type", "page")
        contains(shell("blob", "upload", "disk", "files", "--type", "page"), "1 unchanged")
        shown = json.loads(shell("blob", "show", "files/disk"))
        equal((shown["x-ms-blob-type"], shown["Content-Length"]), ("PageBlob", str(len(disk))))
        ranges = shell.rows("blob", "pages", "files/disk")
        equal(ranges, [{"Start": 5 * MIB, "End": 5 * MIB + 511, "Cleared": False}])
        shell("blob", "download", "files/disk", "copy")
        equal(read(directory, "copy") == disk, True)
        snapshot = shell("blob", "snapshot", "files/disk").strip()
        equal(shell.rows("blob", "pages", "files/disk", "--since", snapshot), [])
        write(directory, "odd", b"x" * 513)
        contains(shell("blob", "upload", "odd", "files", "--type", "page", code=1), "multiple of 512")
        contains(shell("blob", "upload", "-", "files/x", "--type", "page", code=1), "pass a file")


def test_blobs_leave_the_archive(binary, directory):
    with serve_memory(binary, directory, "--rehydrate-seconds", "1") as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, "x", b"x")
        shell("blob", "upload", "x", "files")
        contains(shell("blob", "rehydrate", "files/x", code=1), "not in the archive tier")
        shell("blob", "tier", "files/x", "Archive")
        contains(shell("blob", "download", "files/x", "-", code=4), "BlobArchived")
        shell("blob", "rehydrate", "files/x", "--tier", "cool", "--priority", "high", "--wait")
        equal(shell("blob", "download", "files/x", "-"), "x")
        equal(json.loads(shell("blob", "show", "files/x"))["x-ms-access-tier"], "Cool")


def test_blobs_are_copied_from_another_server(binary, directory):
    with serve_memory(binary, directory) as first:
        source = Shell(binary, directory, first)
        source("container", "create", "files")
        write(directory, "x", b"elsewhere")
        source("blob", "upload", "x", "files")
        url = source("blob", "url", "files/x", "--permissions", "r", "--expires", "1h").strip()
        with serve_memory(binary, directory) as closed:
            shell = Shell(binary, directory, closed)
            shell("container", "create", "files")
            contains(shell("blob", "copy", url, "files/copy", code=1), "CannotVerifyCopySource")
        host = urllib.parse.urlsplit(url).netloc
        with serve_memory(binary, directory, "--copy-source-allow", host) as second:
            shell = Shell(binary, directory, second)
            shell("container", "create", "files")
            shell("blob", "copy", url, "files/copy")
            equal(shell("blob", "download", "files/copy", "-"), "elsewhere")


def test_events_are_delivered_to_a_queue(binary, directory):
    with serve(binary, directory, "--events", "queue:changes") as server:
        shell = Shell(binary, directory, server)
        shell("container", "create", "files")
        write(directory, "x", b"x")
        shell("blob", "upload", "x", "files")
        shell("blob", "tier", "files/x", "Cool")
        shell("blob", "delete", "files/x")
        shell("events", "drain", "--location", "data")
        messages = [shell.rows("message", "get", "changes", "--base64")[0]["MessageText"] for _ in range(3)]
        types = [json.loads(text)["eventType"] for text in messages]
        equal(types, [f"Microsoft.Storage.Blob{what}" for what in ("Created", "TierChanged", "Deleted")])
    both = ("--events", "queue:others", "--events", "devstoreaccount1=queue:own")
    with serve(binary, directory, *both) as server:
        shell = Shell(binary, directory, server)
        shell("blob", "upload", "x", "files")
        shell("events", "drain", "--location", "data")
        equal(len(shell.rows("message", "get", "own", "--base64")), 1)
    port = free_port()
    with serve_memory(binary, directory, "--admin-port", str(port)) as server:
        shell = Shell(binary, directory, server)
        contains(shell("events", "drain", "--admin-port", str(port), code=1), "--events")
