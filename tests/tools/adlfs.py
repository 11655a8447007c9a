"""adlfs, the fsspec file system: write, read, append, list, walk, copy, move, remove."""

import os

import fsspec

fs = fsspec.filesystem("abfs", connection_string=os.environ["AZURE_STORAGE_CONNECTION_STRING"])
name = f"adlfs-{os.getpid()}"
fs.mkdir(name)
fs.pipe({f"{name}/a/one": b"1", f"{name}/a/b/two": b"22", f"{name}/three": b"333"})
assert fs.cat(f"{name}/a/b/two") == b"22"
assert sorted(fs.find(name)) == [f"{name}/a/b/two", f"{name}/a/one", f"{name}/three"]
assert sorted(fs.ls(name, detail=False)) == [f"{name}/a", f"{name}/three"]
assert fs.info(f"{name}/three")["size"] == 3 and fs.isdir(f"{name}/a") and not fs.exists(f"{name}/missing")
assert [folder for folder, _, _ in fs.walk(name)] == [name, f"{name}/a", f"{name}/a/b"]
data = os.urandom(2_000_000)
with fs.open(f"{name}/large", "wb", block_size=500_000) as file:  # in blocks
    file.write(data)
with fs.open(f"{name}/large", "rb") as file:
    file.seek(1_000_000)
    assert file.read(10) == data[1_000_000:1_000_010]
fs.cp_file(f"{name}/large", f"{name}/copy")
fs.mv(f"{name}/copy", f"{name}/moved")
assert fs.cat(f"{name}/moved") == data and not fs.exists(f"{name}/copy")
assert [path.rsplit("/", 1)[1] for path in fs.glob(f"{name}/*e*")] == ["large", "moved", "three"]
fs.rm(f"{name}/a", recursive=True)
assert sorted(fs.find(name)) == [f"{name}/large", f"{name}/moved", f"{name}/three"]
fs.rm(name, recursive=True)
assert not fs.exists(name)
