"""The recipes of docs/recipes.md: what they name exists in the packages, and what can run without Docker runs."""

import fnmatch
import json
import re

import npm
from common import ROOT, Skip, Started, need, run
from image import images

SERVICES = [10000, 10001, 10002]
RECIPES = ROOT / "docs" / "recipes.md"


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```", RECIPES.read_text(), re.S | re.M)
    assert found, f"docs/recipes.md has no {language} block"
    return found


def yaml_blocks():
    try:
        import yaml
    except ImportError:
        raise Skip("PyYAML is not installed") from None
    return [yaml.safe_load(text) for text in blocks("yaml")]


def test_recipes_name_the_current_version(packages, directory):
    text = RECIPES.read_text()
    named = re.findall(r"lazuli:(\d[\w.]*)|lazuli@(\d[\w.]*)|lazuli-(\d+\.\d+\.\d+)|\"lazuli\": \"(\d[\w.]*)\"", text)
    assert {word for words in named for word in words if word} == {packages.version}, named


def test_the_readme_names_the_files_that_the_builders_make(packages, directory):
    named = dict(re.findall(r"^packaging/build-(\w+) .* CLONE/target/packages/(\S+)", (ROOT / "README.md").read_text(), re.M))
    # The npm package and the one with its binary are installed together.
    counts = {form: len(fnmatch.filter([path.name for path in packages.build(form)], pattern)) for form, pattern in named.items()}
    assert counts == {"npm": 2, "wheels": 1, "image": 1}, named


def test_containers_of_recipes_match_the_image(packages, directory):
    development, production = images(packages, directory)
    documents = yaml_blocks()
    services = [entry["services"] for entry in documents if "services" in entry]
    services += [entry["jobs"]["test"]["services"] for entry in documents if "jobs" in entry]
    assert len(services) == 3
    for storage in (service["storage"] for service in services):
        tags = {f"lazuli:{packages.version}": development, f"lazuli:{packages.version}-production": production}
        image = tags[storage["image"]]
        inside = {port for mapping in storage["ports"] for port in port_range(mapping.split(":")[-1])}
        assert set(SERVICES) <= inside and {f"{port}/tcp" for port in inside} <= set(image.config["ExposedPorts"]), storage
        for volume in storage.get("volumes", []):
            assert volume.split(":")[1] in image.config["Volumes"], volume


def port_range(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def test_the_task_of_vs_code_starts_the_server_and_sees_that_it_is_ready(packages, directory):
    task = next(json.loads(text) for text in blocks("json") if "tasks" in text)["tasks"][0]
    commands = npm.installed(packages)
    words = [word.replace("${workspaceFolder}", str(directory)) for word in task["args"]]
    assert task["command"] == "npx" and words[0] == "lazuli"
    ports = ["--blob-port", "0", "--queue-port", "0", "--table-port", "0", "--admin-port", "0"]
    with Started(commands / "lazuli", *words[1:], *ports, cwd=directory) as server:
        ready = re.compile(task["problemMatcher"]["background"]["endsPattern"])
        assert any(ready.search(line) for line in server.output.splitlines()), server.output
        assert (directory / ".storage").is_dir()
        assert server.stop() == 0, server.said()


def test_scripts_of_the_node_recipe_find_their_commands(packages, directory):
    manifest = next(json.loads(text) for text in blocks("json") if "devDependencies" in text)
    assert manifest["devDependencies"] == {"lazuli": packages.version}
    (directory / "node_modules").symlink_to(npm.installed(packages).parent)
    manifest["scripts"]["storage"] = manifest["scripts"]["storage"].split()[0] + " --version"
    (directory / "package.json").write_text(json.dumps(manifest))
    assert packages.version in run("npm", "run", "--silent", "storage", cwd=directory)


def test_the_formula_is_valid_ruby(packages, directory):
    need("ruby")
    (directory / "lazuli.rb").write_text(blocks("ruby")[0])
    assert "Syntax OK" in run("ruby", "-c", directory / "lazuli.rb")
