# SPDX-License-Identifier: Apache-2.0
"""GET /openapi.json agrees with /ops and the daemon's answers, is valid, and every example in it works.

covers: server/api/openapi_json.c server/http/handle_document.c"""
import http.client
import json
import os
import shutil
import subprocess
import urllib.parse

import pytest

from conftest import check_problem, form, pnm, noise
from npm import npm_packages
from test_operators_dir import CC, TOTALS, WHITE, begin, folder
from test_reload import reload, write

USERS = {
    "white": WHITE, "totals": TOTALS,
    "deep": "#STRUCT\ntypedef struct {\n    float weight; // 0.5 [-2.25,3]\n    bool both; // true\n} how;\n"
            "#P2P_FUNC\nstatic unsigned short deep(unsigned short pixel, int index, how h) {\n"
            "    return (unsigned short)(pixel * h.weight * h.both / 4 + 9); }\n",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A daemon, with users' operators where there is a compiler; and its description."""
    from conftest import Daemon
    tmp_path = tmp_path_factory.mktemp("openapi")
    daemon = begin(Daemon, folder(tmp_path, **USERS)) if CC else Daemon()
    yield daemon, daemon.get("/openapi.json").json
    assert daemon.stop() == 0, daemon.log_text()


def resolve(document, node):
    while isinstance(node, dict) and "$ref" in node:
        at = document
        assert node["$ref"].startswith("#/")
        for name in node["$ref"][2:].split("/"):
            at = at[name]
        node = at
    return node


def nodes(node):
    """All objects below NODE, of any kind."""
    if isinstance(node, dict):
        yield node
    for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else []):
        yield from nodes(child)


def validator(document, schema):
    """A validator whose references resolve within the document."""
    import jsonschema
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def work(document):
    """(path, operation) of each operation that takes an image."""
    return [(path, item["post"]) for path, item in document["paths"].items() if "post" in item]


def parameters(document, operation):
    return [resolve(document, p) for p in operation["parameters"]]


def example_of(parameter):
    return parameter["example"] if "example" in parameter else parameter["content"]["application/json"]["example"]


# A parameter that replaces a required one.
EXCLUDED = {"widths": ("width",), "types": ("type",)}


def needed_of(daemon, path, query):
    """A request's required parameters; where one of several must be given, those that /ops has an example of."""
    ops = {"/" + op["name"]: op["parameters"] for op in daemon.get("/ops").json["operators"]}
    tried = {param["name"] for param in ops.get(path, []) if "example" in param}
    return [(p, example_of(p)) for p in query if p.get("required") or p["name"] in tried | {"operations"}]


def target(path, given):
    """The request target. GIVEN: [(parameter, value)...] of the query."""
    def text(parameter, value):
        if "content" in parameter:
            return json.dumps(value)
        if isinstance(value, list):
            return ",".join(map(str, value))  # style form, not exploded
        return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)

    return path + "?" + urllib.parse.urlencode({p["name"]: text(p, v) for p, v in given})


def bodies(document, operation):
    """(content type, bytes) of every example of a body."""
    for media_type, content in resolve(document, operation["requestBody"])["content"].items():
        if media_type == "multipart/form-data":
            parts = [(name, value, "a") if isinstance(value, str) else (name, json.dumps(value), None)
                     for name, value in content["example"].items()]
            body, media_type = form(parts)
            yield media_type, body
        elif "example" in content:
            yield media_type, content["example"].encode()


def check_answer(document, operation, answer):
    declared = resolve(document, operation["responses"].get(str(answer.status), {}))
    assert declared, (answer.status, answer.body[:300])
    media_type = answer.headers["Content-Type"].partition(";")[0]
    assert media_type in declared["content"], (media_type, declared["content"].keys())
    schema = declared["content"][media_type].get("schema")
    if media_type.endswith("json"):
        validator(document, schema).validate(answer.json)
    several = "manifest.json" in str(answer.body[-2000:])
    for name, header in declared.get("headers", {}).items():
        header = resolve(document, header)
        value = answer.headers[name]
        assert (value is None) == (several and name.startswith("X-Result")), name
        if value is None:
            continue
        if "content" in header:
            validator(document, header["content"]["application/json"]["schema"]).validate(json.loads(value))
        elif header["schema"]["type"] == "integer":
            int(value)


# ---- what it says

def test_every_operator_with_every_parameter(service):
    daemon, document = service
    types = {"integer": "integer", "number": "number", "boolean": "boolean", "choice": "string", "integers": "array",
             "colour": "string", "pair": "string", "numbers": "array"}
    listed = daemon.get("/ops").json["operators"]
    assert {op["name"] for op in listed} >= ({"white", "deep", "total", "tally"} if CC else set())
    for op in listed:
        operation = document["paths"]["/" + op["name"]]["post"]
        assert operation["operationId"] == op["name"] and operation["summary"] == op["summary"] and operation["x-group"] == op["group"]
        own = {p["name"]: p for p in operation["parameters"] if "$ref" not in p}
        names = [p["name"] for p in parameters(document, operation)]
        assert len(names) == len(set(names)) and "background" in names and "type" in names
        assert list(own) == [p["name"] for p in op["parameters"]]
        for entry in op["parameters"]:
            parameter, schema = own[entry["name"]], own[entry["name"]]["schema"]
            numbers = schema["items"] if "counts" in entry else schema
            share = "percent_of" in entry
            assert schema["type"] == (["integer", "string"] if share else types[entry["type"]]) and parameter["in"] == "query"
            if entry["type"] != "pair":  # its pattern does not give the range
                assert (numbers.get("minimum"), numbers.get("maximum")) == (entry.get("min"), entry.get("max"))
            assert schema.get("default") == entry.get("default") and schema.get("enum") == entry.get("choices")
            assert parameter.get("required", False) == entry["required"]
            assert parameter["description"].startswith(entry.get("summary", ""))
            assert parameter["example"] == entry["example"] if "example" in entry else "example" in parameter
            assert ("pattern" in schema) == (share or entry["type"] in ("colour", "pair"))
            if "counts" in entry:
                assert [schema["minItems"], schema["maxItems"]] == entry["counts"]
        content = resolve(document, operation["requestBody"])["content"]["multipart/form-data"]
        assert list(content["schema"]["properties"]) == ["image"] + [part["name"] for part in op["parts"]]
        assert operation["responses"]["200"]["$ref"].endswith("Values" if "values" in op else "Image")
    steps = document["components"]["schemas"]["Operations"]
    aliases = [path[1:] for path, operation in work(document) if operation["tags"] == ["imaginary"]]
    assert aliases == ["fit", "enlarge", "thumbnail", "watermarkimage", "convert", "autorotate"]
    assert steps["items"]["properties"]["operation"]["enum"] == [op["name"] for op in listed] + aliases
    fixed = set(document["paths"]) - {"/" + op["name"] for op in listed} - {"/" + name for name in aliases}
    assert fixed == {"/pipeline", "/info", "/ops", "/openapi.json", "/livez", "/health", "/readyz", "/metrics",
                     "/progress/{id}", "/quota"}


def test_it_is_whole(service):
    import jsonschema
    _, document = service
    assert document["openapi"] == "3.1.0" and document["info"]["version"]
    for node in nodes(document):
        resolve(document, node)
    for node in nodes(document):
        if isinstance(node.get("schema"), dict):
            jsonschema.Draft202012Validator.check_schema(node["schema"])
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    names = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(names) == len(set(names))


@pytest.fixture(scope="module")
def redocly(tmp_path_factory):
    """@redocly/cli as locked in tests/page/package-lock.json, or an installed one."""
    return shutil.which("redocly") or npm_packages(tmp_path_factory.mktemp("redocly")) / ".bin/redocly"


def test_a_validator_says_so(service, redocly, tmp_path):
    _, document = service
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    run = subprocess.run([redocly, "lint", "--format", "json", "openapi.json"], cwd=tmp_path, capture_output=True, timeout=120,
                         env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"})
    if not run.stdout:
        done = subprocess.run([redocly, "--version"], capture_output=True, text=True, timeout=60)
        if done.returncode:
            pytest.skip("it does not run here, with Node.js before 20.19 for one: " + done.stderr.strip()[-200:])
    assert run.returncode == 0 and json.loads(run.stdout)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}, run.stdout


# ---- its statements are true

def test_every_example_is_sent(service):
    """Each parameter's example works with the required parameters alone, and so does each example of a body."""
    daemon, document = service
    of_two_pictures = {"/" + op["name"] for op in daemon.get("/ops").json["operators"] if any(part["kind"] == "picture" for part in op["parts"])}
    assert of_two_pictures == {"/composite"}
    of_two_pictures.add("/watermarkimage")  # the same by its other name
    sent = 0
    for path, operation in work(document):
        query = [p for p in parameters(document, operation) if p["in"] == "query"]
        # Steps may come as a form field; where the image is the whole body, they must be in the query.
        needed = needed_of(daemon, path, query)
        examples = list(bodies(document, operation))
        assert len(examples) == (1 if path in of_two_pictures else 2), path  # no body that is one image holds two
        assert examples[0][0].startswith("multipart")
        for media_type, body in examples:
            given = [] if path == "/pipeline" and media_type.startswith("multipart") else needed
            answer = daemon.request("POST", target(path, given), body, {"Content-Type": media_type, "X-Request-ID": "example-1"})
            assert answer.status == 200, (path, media_type, answer.body)
            assert answer.headers["X-Request-ID"] == "example-1"
            check_answer(document, operation, answer)
        media_type, body = examples[-1]
        for parameter in query:
            schema = parameter.get("schema", {}) or parameter["content"]["application/json"]["schema"]
            validator(document, schema).validate(example_of(parameter))
            given = [(p, v) for p, v in needed if p["name"] not in (parameter["name"], *EXCLUDED.get(parameter["name"], ()))]
            given += [(parameter, example_of(parameter))]
            answer = daemon.request("POST", target(path, given), body, {"Content-Type": media_type})
            assert answer.status == 200, (path, parameter["name"], answer.body)
            check_answer(document, operation, answer)
            sent += 1
    assert sent > 50


def test_every_limit_is_where_it_is_said_to_be(service):
    """A value beyond a range is refused as described, and each choice is accepted."""
    daemon, document = service
    for path, operation in work(document):
        query = [p for p in parameters(document, operation) if p["in"] == "query"]
        needed = needed_of(daemon, path, query)
        media_type, body = list(bodies(document, operation))[-1]
        for parameter in query:
            schema = parameter.get("schema", {})
            wrong = [schema[end] + by for end, by in (("minimum", -1), ("maximum", 1)) if end in schema]
            wrong += [schema["enum"][0] + "x"] if "enum" in schema else []
            wrong += ["no"] if "pattern" in schema else []
            for value in wrong:
                others = [(p, v) for p, v in needed if p is not parameter]
                answer = daemon.request("POST", target(path, [*others, (parameter, value)]), body, {"Content-Type": media_type})
                check_problem(answer, 400, parameter["name"])
                check_answer(document, operation, answer)
            for value in schema.get("enum", []):
                answer = daemon.request("POST", target(path, [*needed, (parameter, value)]), body, {"Content-Type": media_type})
                assert answer.status == 200, (path, parameter["name"], value, answer.body)


def test_errors_and_reports_are_as_described(service):
    daemon, document = service
    operation = document["paths"]["/info"]["post"]
    check_answer(document, operation, daemon.post("/info", pnm(noise(9, 9))))
    for body, status in ((b"no image", 415), (b"P5 0 0 255\n", 422), (b"P5 8 8 255\nshort", 422)):
        answer = daemon.post("/info" if status == 415 else "/pipeline?operations=" + urllib.parse.quote(
            json.dumps(example_of(parameters(document, document["paths"]["/pipeline"]["post"])[0]))), body)
        assert answer.status == status, answer.body
        check_answer(document, operation, answer)
    for path, item in document["paths"].items():
        if "get" in item:
            check_answer(document, item["get"], daemon.get(path))


# ---- the document over HTTP

@pytest.mark.parametrize("path", ["/openapi.json", "/ops"])
def test_asked_for_again(service, path):
    daemon, _ = service
    first = daemon.get(path)
    etag = first.headers["ETag"]
    assert first.status == 200 and first.headers["Content-Type"] == "application/json"
    assert first.headers["Cache-Control"] == "no-cache" and etag[0] == etag[-1] == '"'
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    for known, status in ((etag, 304), (f'"a", W/{etag}', 304), ("*", 304), ('"other"', 200), ("", 200)):
        connection.request("GET", path, headers={"If-None-Match": known})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (status, b"" if status == 304 else first.body), known
        assert answer.headers["ETag"] == etag and answer.headers["Cache-Control"] == "no-cache"
    connection.request("HEAD", path)
    answer = connection.getresponse()
    assert (answer.status, answer.read(), answer.headers["Content-Length"]) == (200, b"", str(len(first.body)))
    assert answer.headers["ETag"] == etag
    connection.request("GET", path)
    assert connection.getresponse().read() == first.body
    connection.close()
    check_problem(daemon.request("POST", path, b"x"), 405, path)


@pytest.mark.skipif(not CC, reason="there is no C compiler")
def test_a_reload_is_seen(start, tmp_path):
    path = folder(tmp_path, white=WHITE)
    daemon = begin(start, path)
    before = {name: daemon.get(name).headers["ETag"] for name in ("/ops", "/openapi.json")}
    reload(daemon)
    assert all(daemon.get(name, **{"If-None-Match": etag}).status == 304 for name, etag in before.items())
    write(path, totals=TOTALS)
    reload(daemon)
    for name, etag in before.items():
        assert daemon.get(name, **{"If-None-Match": etag}).status == 200
    assert "/total" in daemon.get("/openapi.json").json["paths"]
    (path / "totals.c").unlink()
    reload(daemon)
    assert {name: daemon.get(name).headers["ETag"] for name in before} == before
