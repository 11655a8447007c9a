"""The configuration file, the environment variables, and the commands that explain them."""

import json
import os

from common import contains, equal, free_port, run, serve_memory, status
from lazuli import ACCOUNT, Client, NotStarted, Server


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


def test_flags_override_variables_and_variables_override_the_file(binary, directory):
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
    except NotStarted as rejection:
        contains(str(rejection), "lazuli.toml, line 2", "table-port")
    contains(run(binary, directory, "serve", "--help")[1], "--table-port")
    code, _, errors = run(binary, directory, "serve", "--config", "missing.toml")
    equal(code, 2)
    contains(errors, "missing.toml")


def test_config_check_explains_every_mistake(binary, directory):
    path = write(directory, "tabel-port = 1\nquiet = \"loud\"\ntable-port = 70000\ndurability = \"never\"\n", "bad.toml")
    code, output, errors = run(binary, directory, "config", "check", path)
    equal((code, errors), (1, ""))
    contains(output, "line 1", "did you mean table-port?", "line 2", "true or false", "line 3", "70000", "line 4", "full, relaxed")
    equal(run(binary, directory, "config", "check", "--config", path)[1], output, "the flag of serve and of show")
    path = write(directory, "location = \"a\"\nengine = \"memory:\"\n", "both.toml")
    code, output, _ = run(binary, directory, "config", "check", path)
    equal(code, 1)
    contains(output, "cannot be used with")
    equal(run(binary, directory, "config", "check")[0], 0, "no file, no mistake")
    code, output, _ = run(binary, directory, "config", "check", write(directory, "quiet = true\n"))
    equal(code, 0)
    contains(output, ": no problems")


def test_config_show_names_the_source_of_values(binary, directory):
    write(directory, "quiet = true\nmax-connections = 500\ntrusted-proxy = [\"10.0.0.1\", \"10.0.0.2\"]\n")
    code, output, errors = run(binary, directory, "config", "show", env={"LAZULI_TABLE_PORT": "77"})
    equal((code, errors), (0, ""))
    lines = {line.split("=")[0].strip(): line for line in output.splitlines()}
    contains(lines["quiet"], "true", "lazuli.toml, line 1")
    contains(lines["max-connections"], "500", "line 2")
    contains(lines["trusted-proxy"], '["10.0.0.1", "10.0.0.2"]')
    contains(lines["table-port"], "77", "LAZULI_TABLE_PORT")
    contains(lines["query-time"], "5", "default")
    contains(lines["self-signed"], "(not set)")
    for said, wanted in (("true", "true"), ("false", "false"), ("\"certs\"", "\"certs\"")):
        write(directory, f"self-signed = {said}\n")
        code, output, _ = run(binary, directory, "config", "show")
        lines = {line.split("=")[0].strip(): line for line in output.splitlines()}
        contains(lines["self-signed"], f"= {wanted} ", "lazuli.toml, line 1")


def test_config_show_names_the_location_of_the_data(binary, directory):
    """Defaults that depend on the machine or on other settings were shown as not set."""
    def show(**variables):
        code, output, errors = run(binary, directory, "config", "show", env=variables)
        equal((code, errors), (0, ""))
        return output, {line.split("=")[0].strip(): line for line in output.splitlines()}

    output, lines = show()
    contains(output, "# no configuration file", "lazuli.toml", f"# data in {os.path.realpath(directory)}/lazuli-data\n")
    for key, value in (("location", '"lazuli-data"'), ("admin-port", "10009"), ("analytics-dir", '"lazuli-data/analytics"')):
        contains(lines[key], f"= {value} ", "# default")
    assert "(not set)" not in lines["cache-mib"], lines["cache-mib"]
    path = write(directory, "location = \"mine\"\n")
    output, lines = show()
    contains(output, f"# settings from {os.path.realpath(path)}\n", f"# data in {os.path.realpath(directory)}/mine\n")
    contains(lines["location"], '"mine"', "lazuli.toml, line 1")
    output, lines = show(LAZULI_ENGINE="memory:")
    contains(output, "# data in memory")
    for key in ("location", "admin-port", "analytics-dir"):
        contains(lines[key], "(not set)")


def test_config_check_reports_variables_that_are_not_settings(binary, directory):
    code, output, errors = run(binary, directory, "config", "check", env={"LAZULI_TABEL_PORT": "1", "LAZULI_CRASH_AT": "x"})
    equal((code, errors), (0, ""))
    contains(output, "warning: LAZULI_TABEL_PORT", "did you mean LAZULI_TABLE_PORT?", "no other problems")
    assert "LAZULI_CRASH_AT" not in output, output


def test_one_wrong_value_hides_no_other_mistake(binary, directory):
    path = write(directory, "quiet = \"loud\"\ntls-cert = \"missing.pem\"\ntls-key = \"key.pem\"\nmax-in-flight-mib = 7\n")
    variables = {"LAZULI_TABLE_PORT": "many", "LAZULI_ACCOUNTS": "nobody"}
    code, output, errors = run(binary, directory, "config", "check", path, env=variables)
    equal((code, errors), (1, ""))
    contains(output, "line 1: ", "line 2: missing.pem", "line 4: 7 MiB", "LAZULI_TABLE_PORT: ", "LAZULI_ACCOUNTS: ")
    path = write(directory, "quiet = \"loud\"\nlocation = \"a\"\nengine = \"memory:\"\n")
    contains(run(binary, directory, "config", "check", path)[1], "line 1: ", "line 3: ", "cannot be used with")
    # Settings that are ignored because they are wrong are not reported as missing.
    path = write(directory, "tls-cert = 1.5\ntls-key = true\n")
    output = run(binary, directory, "config", "check", path)[1]
    assert "line 2: " in output and "not provided" not in output, output


def test_config_check_checks_the_files_that_settings_name(binary, directory):
    write(directory, "nonsense", "nonsense.pem")
    for text, *parts in (
            ("quiet = true\ntls-cert = \"missing.pem\"\ntls-key = \"nonsense.pem\"\n", "line 2: missing.pem"),
            ("tls-cert = \"nonsense.pem\"\ntls-key = \"missing.pem\"\n", "line 1: nonsense.pem", "no certificate"),
            ("tls-cert = \"nonsense.pem\"\n", "line 1: ", "--tls-key"),
            ("oauth-issuer = \"https://i\"\noauth-audience = [\"https://a\"]\noauth-jwks = \"none.json\"\n",
             "line 3: none.json"),
            ("oauth-issuer = \"https://i\"\noauth-audience = [\"https://a\"]\noauth-jwks = \"nonsense.pem\"\n",
             "line 3: nonsense.pem"),
            ("max-in-flight-mib = 7\n", "line 1: 7 MiB is too small: at least 8 MiB")):
        path = write(directory, text)
        code, output, errors = run(binary, directory, "config", "check", path)
        equal((code, errors), (1, ""), text)
        contains(output, "lazuli.toml, ", *parts)
        code, output, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0")
        equal(output, "", "serve does not start, either")
        assert code in (1, 2), (code, errors)
    path = write(directory, "analytics-dir = \"new/logs\"\n")
    equal(run(binary, directory, "config", "check", path)[0], 0)
    assert not os.path.exists(os.path.join(directory, "new")), "nothing is made"


def test_config_check_names_the_variable(binary, directory):
    """A mistake in the environment is not reported for the first line of the file."""
    write(directory, "# mine\nquiet = true\n")
    for variables, *parts in (
            ({"LAZULI_TABLE_PORT": "many"}, "LAZULI_TABLE_PORT: ", "'many'"),
            ({"LAZULI_MAX_IN_FLIGHT_MIB": "0"}, "LAZULI_MAX_IN_FLIGHT_MIB: "),
            ({"LAZULI_MAX_IN_FLIGHT_MIB": "3"}, "LAZULI_MAX_IN_FLIGHT_MIB: 3 MiB is too small"),
            ({"LAZULI_TLS_CERT": "missing.pem"}, "LAZULI_TLS_CERT: ", "--tls-key"),
            ({"LAZULI_LOCATION": "a", "LAZULI_ENGINE": "memory:"}, "LAZULI_LOCATION", "LAZULI_ENGINE"),
            ({"LAZULI_ACCOUNTS": "nobody"}, "LAZULI_ACCOUNTS: "),
            ({"LAZULI_QUIET": "perhaps", "LAZULI_HOST": "nowhere"}, "LAZULI_QUIET: ", "LAZULI_HOST: ")):
        code, output, errors = run(binary, directory, "config", "check", env=variables)
        equal((code, errors), (1, ""), variables)
        contains(output, *parts)
        assert "line" not in output, output
    equal(run(binary, directory, "config", "check", env={"LAZULI_TLS_CERT": ""})[0], 0, "an empty variable counts as unset")
    code, _, errors = run(binary, directory, "serve", env={"LAZULI_TABLE_PORT": "many"})
    equal(code, 2)
    contains(errors, "LAZULI_TABLE_PORT: ")


def test_passwords_are_never_shown(binary, directory):
    url = "postgres://me:hunter2@127.0.0.1:1/lazuli?connect_timeout=1"
    write(directory, f"engine = \"{url}\"\n")
    for args, variables in ((("config", "show"), {}), (("config", "show"), {"LAZULI_ENGINE": url + "&password=hunter2"}),
                            (("config", "check"), {"LAZULI_ENGINE": url + "&pool=hunter"}),
                            (("serve",), {}), (("serve",), {"LAZULI_ENGINE": url + "&nonsense=1"}),
                            (("serve", url), {}), (("serve", "--engine", url + "&pool=none"), {}),
                            (("account", "list", "--engine", url), {}),
                            (("engine", "migrate", url + "&reads=never"), {}),
                            (("table", "list", "AccountKey=hunter2"), {})):
        code, output, errors = run(binary, directory, *args, env=variables)
        assert "hunter2" not in output + errors, (args, output, errors)
        equal(code == 0, args == ("config", "show"), (args, output, errors))
        if args == ("config", "show"):
            contains(output, "me:***@127.0.0.1:1/lazuli")


def test_too_little_memory_is_rejected_at_start(binary, directory):
    for args, least in ((("7",), 8), (("1",), 8), (("16", "--max-body-kib", "16384"), 17)):
        code, output, errors = run(binary, directory, "serve", "--engine", "memory:", "--max-in-flight-mib", *args)
        equal((code, output), (1, ""), args)
        contains(errors, "--max-in-flight-mib", f"at least {least} MiB")
    with serve_memory(binary, directory, "--max-in-flight-mib", "8") as server, Client(server) as client:
        equal(client.ask("POST", "/Tables", {"TableName": "large"}).status, 204)
        part = ("--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
                f"PUT http://127.0.0.1/{ACCOUNT}/large(PartitionKey='p',RowKey='%s') HTTP/1.1\r\n"
                "Content-Type: application/json\r\n\r\n" + json.dumps({f"P{n}": "x" * 30000 for n in range(5)}) + "\r\n")
        body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + "".join(part % n for n in range(25))
        for _ in range(3):
            response = client.ask("POST", "/$batch", (body + "--c--\r\n--b--\r\n").encode(),
                                {"Content-Type": "multipart/mixed; boundary=b"})
            equal(response.status, 202)
            page = client.ask("GET", "/large()")
            equal((page.status, len(page.json["value"])), (200, 25))


def test_health_finds_a_server_without_a_directory(binary, directory):
    port = free_port()
    absent = run(binary, directory, "health", "--admin-port", str(port))
    equal(absent[:2], (1, ""))
    contains(absent[2], f"http://127.0.0.1:{port}")
    with serve_memory(binary, directory, "--admin-port", port) as server:
        contains(server.output, f"http://127.0.0.1:{port}/readyz")
        for args, variables in ((("--admin-port", str(port)), {}), (("--url", f"http://127.0.0.1:{port}"), {}),
                                (("--url", f"http://localhost:{port}/readyz"), {}), ((), {"LAZULI_ADMIN_PORT": str(port)})):
            equal(run(binary, directory, "health", *args, env=variables), (0, "ready\n", ""), args)
        write(directory, f"admin-port = {port}\n")
        equal(run(binary, directory, "health"), (0, "ready\n", ""))
        equal(run(binary, directory, "health", "--location", "data")[0], 1, "that server uses another port")


def test_health_asks_a_service_if_there_is_no_admin_listener(binary, directory):
    with serve_memory(binary, directory) as server:
        host, port = server.addresses["queue"]
        equal(run(binary, directory, "health", "--url", f"http://{host}:{port}/-/health"), (0, "ready\n", ""))
        found = run(binary, directory, "health", env={"LAZULI_SERVICES": "queue", "LAZULI_QUEUE_PORT": str(port),
                                                      "LAZULI_ADMIN_PORT": str(free_port())})
        equal(found, (0, "ready\n", ""))


def test_health_reports_whether_the_server_is_ready(binary, directory):
    code, _, errors = run(binary, directory, "health", "--location", "data")
    equal(code, 1)
    contains(errors, "admin.json")
    with Server(binary, "--location", os.path.join(directory, "data"), directory=directory) as server:
        equal(run(binary, directory, "health", "--location", "data")[:2], (0, "ready\n"))
        equal(run(binary, directory, "health", env={"LAZULI_LOCATION": "data"})[:2], (0, "ready\n"))
        equal(server.stop(), 0)
    equal(run(binary, directory, "health", "--location", "data")[0], 1)
