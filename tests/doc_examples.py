#!/usr/bin/env python3
"""Fails if a public item of the client's crates has no documentation, or none with an example that is tested.

    tests/doc_examples.py [CRATE...]

Public items are those that rustdoc finds from the crate's root, also through `pub use` out of private modules, which
rustdoc's own count of examples leaves out. Fields, variants and associated types need documentation; everything else also
needs an example of its own, which the doctests run. The same holds for items that a crate re-exports from another of our
crates, since its users see them as its own.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

CRATES = ["lazuli-client", "lazuli-client-derive", "lazuli-embedded"]
FEATURES = {"lazuli-embedded": ["--features", "store"]}
DOCUMENTED_ONLY = {"struct_field", "variant", "assoc_type", "assoc_const"}
ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^\s*```+([^\n`]*)$", re.M)


@functools.cache
def describe(crate):
    """The JSON output of rustdoc for a crate. The format is unstable, so only rustdoc runs with unstable features (tests/support/rustdoc-unstable)."""
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    command = ["cargo", "rustdoc", "--quiet", "--package", crate, "--lib", *FEATURES.get(crate, [])]
    command += ["--", "-Z", "unstable-options", "--output-format", "json"]
    rustdoc = ROOT / "tests" / "support" / "rustdoc-unstable"
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "RUSTDOC": str(rustdoc)})
    return json.loads((pathlib.Path(target) / "doc" / f"{crate.replace('-', '_')}.json").read_text())


def has_example(docs):
    """Is there a block that the doctests run, or compile at least?"""
    for info in FENCE.findall(docs)[::2]:
        words = set(re.split(r"[,\s]+", info.strip())) - {""}
        rust = {"rust", "no_run", "should_panic"}
        if all(word in rust or word.startswith("edition") for word in words):
            return True
    return False


def public(known, root):
    """Every public item, with the path by which it was found first."""
    index, seen = known["index"], set()

    def walk(key, path):
        item = index.get(str(key))
        if item is None or key in seen:
            return
        (kind, inner), = item["inner"].items()
        if kind == "use":
            if inner["is_glob"]:
                for child in index.get(str(inner["id"]), {}).get("inner", {}).get("module", {}).get("items", []):
                    yield from walk(child, path)
            elif str(inner["id"]) in index:
                yield from walk(inner["id"], path)
            else:
                yield from handed_on(known, inner["id"])
            return
        seen.add(key)
        here = path if item["name"] is None else path + (item["name"],)
        if kind == "impl":
            # Items that a trait requires are documented at the trait.
            if inner["trait"] is None and not inner["is_synthetic"]:
                for child in inner["items"]:
                    yield from walk(child, path)
            return
        yield item, kind, "::".join(here)
        for child in children(kind, inner):
            yield from walk(child, here)

    yield from walk(root, ())


def handed_on(known, key):
    """An item of another crate, with all that belongs to it; nothing if the crate is not one of ours."""
    path = known["paths"][str(key)]["path"]
    crate = path[0].replace("_", "-")
    # The derive crate is in the list itself, and its macros are documented there.
    if not crate.startswith("lazuli-") or crate in CRATES:
        return
    other = describe(crate)
    root, = (key for key, summary in other["paths"].items() if summary["path"] == path and summary["crate_id"] == 0)
    yield from public(other, int(root))


def children(kind, inner):
    if kind in ("module", "trait"):
        return inner["items"]
    if kind == "enum":
        return inner["variants"] + inner["impls"]
    if kind == "variant":
        fields = inner["kind"]
        return fields["struct"]["fields"] if isinstance(fields, dict) and "struct" in fields else []
    if kind == "struct":
        fields = inner["kind"]
        named = fields["plain"]["fields"] if isinstance(fields, dict) and "plain" in fields else []
        return named + inner["impls"]
    return []


def check(crate):
    known = describe(crate)
    missing, items, examples = [], 0, 0
    for item, kind, path in public(known, known["root"]):
        items += 1
        docs = item["docs"] or ""
        what = None
        if not docs.strip():
            what = "no documentation"
        elif kind not in DOCUMENTED_ONLY:
            examples += 1
            what = None if has_example(docs) else "no example"
        if what:
            span = item["span"]
            missing.append(f"{span['filename']}:{span['begin'][0]}: {path}: {what}")
    print(f"{crate}: {items} public items, {examples} with examples to have, {len(missing)} lack something")
    return sorted(missing)


def main():
    missing = [line for crate in sys.argv[1:] or CRATES for line in check(crate)]
    sys.exit("\n".join(missing) or 0)


if __name__ == "__main__":
    main()
