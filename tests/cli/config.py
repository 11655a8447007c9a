"""The configuration file, the variables, and what explains them."""

import os

from common import contains, equal, free_port, run, serve_memory, status
from lazuli import NotStarted, Server


def write(directory, text, name="lazuli.toml"):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def port_of(binary, directory, *args, env=None):
    """The port that a server listens on with these settings."""
    with Server(binary, "--engine", "memory:", *args, command=("serve",), env=env, directory=directory) as server:
        equal(status(server), 200)
        return server.port


def test_a_flag_is_stronger_than_a_variable_and_that_than_the_file(binary, directory):
    one, two, three = free_port(), free_port(), free_port()
    write(directory, f"table-port = {one}\nlog-format = \"json\"\n")
    variable = {"LAZULI_TABLE_PORT": str(two)}
    equal(port_of(binary, directory), one, "the file in the working directory")
    equal(port_of(binary, directory, env=variable), two)
    equal(port_of(binary, directory, "--table-port", three, env=variable), three)
    other = write(directory, f"table-port = {three}\n", "other.toml")
    equal(port_of(binary, directory, "--config", other), three)
    equal(port_of(binary, directory, env={"LAZULI_CONFIG": other}), three)


def test_a_file_with_a_mistake_keeps_the_server_from_starting(binary, directory):
    write(directory, "# ports\ntabel-port = 1\n")
    try:
        with serve_memory(binary, directory):
            raise AssertionError("it started")
    except NotStarted as refusal:
        contains(str(refusal), "line 2", "table-port")
    contains(run(binary, directory, "serve", "--help")[1], "--table-port")
    code, _, errors = run(binary, directory, "serve", "--config", "missing.toml")
    equal(code, 2)
    contains(errors, "missing.toml")


def test_config_check_explains_every_mistake(binary, directory):
    path = write(directory, "tabel-port = 1\nquiet = \"loud\"\ntable-port = 70000\ndurability = \"never\"\n", "bad.toml")
    code, output, errors = run(binary, directory, "config", "check", path)
    equal((code, errors), (1, ""))
    contains(output, "line 1", "is table-port meant?", "line 2", "true or false", "line 3", "70000", "line 4", "full, relaxed")
    path = write(directory, "location = \"a\"\nengine = \"memory:\"\n", "both.toml")
    code, output, _ = run(binary, directory, "config", "check", path)
    equal(code, 1)
    contains(output, "cannot be used with")
    equal(run(binary, directory, "config", "check")[0], 0, "no file, no mistake")
    code, output, _ = run(binary, directory, "config", "check", write(directory, "quiet = true\n"))
    equal(code, 0)
    contains(output, "nothing is wrong")


def test_config_show_tells_where_values_come_from(binary, directory):
    write(directory, "quiet = true\nmax-connections = 500\ntrusted-proxy = [\"10.0.0.1\", \"10.0.0.2\"]\n")
    code, output, errors = run(binary, directory, "config", "show", env={"LAZULI_TABLE_PORT": "77"})
    equal((code, errors), (0, ""))
    lines = {line.split("=")[0].strip(): line for line in output.splitlines()}
    contains(lines["quiet"], "true", "lazuli.toml, line 1")
    contains(lines["max-connections"], "500", "line 2")
    contains(lines["trusted-proxy"], '["10.0.0.1", "10.0.0.2"]')
    contains(lines["table-port"], "77", "LAZULI_TABLE_PORT")
    contains(lines["query-time"], "5", "default")


def test_health_tells_whether_the_server_is_ready(binary, directory):
    code, _, errors = run(binary, directory, "health", "--location", "data")
    equal(code, 1)
    contains(errors, "admin.json")
    with Server(binary, "--location", os.path.join(directory, "data"), directory=directory) as server:
        equal(run(binary, directory, "health", "--location", "data")[:2], (0, "ready\n"))
        equal(server.stop(), 0)
    equal(run(binary, directory, "health", "--location", "data")[0], 1)
