#!/usr/bin/env python3
"""Runs the examples of README.md as they are printed, against a server of its own: WR-15, and docs that run.

    tests/readme.py --binary target/release/lazuli --venv DIR --modules DIR

The Python one needs azure-data-tables in the venv, the JavaScript one @azure/data-tables below the modules folder.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def block(language, containing):
    """The code block of README that contains a word."""
    for text in re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        if containing in text:
            return text
    raise SystemExit(f"README.md has no {language} example with {containing}")


def run(name, command, expected, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)
    if done.returncode == 0 and expected in done.stdout:
        print(f"ok      {name}")
        return True
    print(f"FAILED  {name}: exit {done.returncode}, wanted {expected!r}\n{done.stdout}{done.stderr}")
    return False


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--binary", required=True)
    arguments.add_argument("--venv", required=True)
    arguments.add_argument("--modules", required=True)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [os.path.abspath(options.binary), "serve", "--engine", "memory:", "--table-port", "0"],
            stdout=subprocess.PIPE, text=True,
        )
        endpoint = None
        for line in server.stdout:
            found = re.search(r"TableEndpoint=http://([^/]+)/", line)
            if found:
                endpoint, connection = found.group(1), line.strip()
                break
        binaries = os.path.dirname(os.path.abspath(options.binary))
        local = lambda text: text.replace("127.0.0.1:10002", endpoint)
        results = [
            run("curl", ["bash", "-c", local(block("sh", "curl -sS"))], '"Name":"Tom"'),
            run("daily work", ["bash", "-ec", f"PATH={binaries}:$PATH\nexport AZURE_STORAGE_CONNECTION_STRING='{connection}'\n"
                               + block("sh", "lazuli table create")], '"Name":"Bubo"', cwd=folder),
            run("sas", ["bash", "-c", f"PATH={binaries}:$PATH\n{block('sh', 'lazuli sas')}"], "allows     query"),
            run("python", [f"{options.venv}/bin/python", "-c", local(block("python", "TableServiceClient"))], "Ada"),
        ]
        script = pathlib.Path(folder) / "first.mjs"
        script.write_text(local(block("js", "TableClient")).replace('"People"', '"PeopleJs"'))
        (pathlib.Path(folder) / "node_modules").symlink_to(os.path.abspath(options.modules))
        results.append(run("javascript", ["node", str(script)], "Ada", cwd=folder))
        server.terminate()
        server.wait()
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


sys.exit(main())
