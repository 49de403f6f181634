# SPDX-License-Identifier: Apache-2.0
"""/metrics for a scraper that accepts OpenMetrics: the same series, and exemplars that name traces; checked by a strict reader
and, where it is installed, by the parser of the Prometheus project.

covers: server/api/metrics.c server/http/handle_status.c"""
import re
import time

import pytest

from conftest import noise, pnm, wait_until
from test_probes import metrics

PICTURE = pnm(noise(32, 24))
# Prometheus 2.45 sends this.
ACCEPT = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
SENT = "0af7651916cd43dd8448eb211c80319c"
BOUNDS = [0.0005 * 2 ** i for i in range(17)] + [float("inf")]
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
LABELS = r'\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\}'
SAMPLE = re.compile(rf'([a-z_]+)(?:{LABELS})? (\S+)(?: # {LABELS} (\S+) (\d+\.\d{{3}}))?')


def read(text):
    """{family: (type, {(sample, labels): (value, exemplar or None)})} by OpenMetrics 1.0; fails on any line out of form."""
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    families = {}
    for line in text.splitlines()[:-1]:
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            assert name not in families and words and not set('"\\') & set(words), line
            families[name], current = [None, {}], name
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and families[name] == [None, {}] and kind in SUFFIXES
            assert kind != "counter" or not name.endswith("_total")
            families[name][0] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            name, labels, value, exemplar, seen, at = found.groups()
            kind, samples = families[current]
            assert name in [current + suffix for suffix in SUFFIXES[kind]], line
            key = name, tuple(re.findall(r'([a-z_]+)="(.*?)"', labels or ""))
            assert key not in samples, line
            if exemplar is not None:
                assert name.endswith("_bucket") and len(exemplar) <= 128
                (label, trace), = re.findall(r'([a-z_]+)="(.*?)"', exemplar)
                assert label == "trace_id"
                exemplar = trace, float(seen), float(at)
            samples[key] = float(value), exemplar
    return families


def scrape(daemon):
    answer = daemon.get("/metrics", Accept=ACCEPT)
    assert answer.status == 200 and answer.headers["Vary"] == "Accept"
    assert answer.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    return answer.body.decode()


@pytest.fixture(scope="module")
def text(daemon):
    """What a daemon prints after requests of all kinds, some of them in one sampled trace."""
    for path, body in (("/histeq", PICTURE), ("/mean", PICTURE), ("/histeq?bins=0", PICTURE), ("/info", PICTURE), ("/histeq", b"no picture")):
        daemon.post(path, body)
        daemon.post(path, body, {"traceparent": f"00-{SENT}-b7ad6b7169203331-01"})
    assert wait_until(lambda: f'op="mean",code="200"' in scrape(daemon))
    return scrape(daemon)


def test_it_is_in_form(text):
    kinds = {kind for kind, _ in read(text).values()}
    assert kinds == set(SUFFIXES)


def test_the_parser_of_prometheus_reads_it(text):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="python3-prometheus-client is not installed")
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert set(families) == set(read(text))
    ours = {key: value for _, samples in read(text).values() for key, (value, _) in samples.items()}
    theirs = {(sample.name, tuple(sample.labels.items())): sample.value for family in families.values() for sample in family.samples}
    assert theirs == ours
    assert any(sample.exemplar for sample in families["burin_request_duration_seconds"].samples)


def test_the_older_text_has_the_same_series(daemon, text):
    """For a scraper that does not ask for OpenMetrics."""
    older = metrics(daemon)
    assert {name.removesuffix("_total") if family["type"] == "counter" else name for name, family in older.items()} == set(read(text))
    body = daemon.get("/metrics", Accept="text/plain;version=0.0.4").body.decode()
    assert "trace_id" not in body and "# EOF" not in body


@pytest.mark.parametrize("accept, wanted", [
    (ACCEPT, True), ("Application/OpenMetrics-Text", True), ("text/html, application/openmetrics-text; version=1.0.0; q=0.001", True),
    ("text/plain, application/openmetrics-text", True), ("application/openmetrics-text;q=0", False), ("application/openmetrics-text ; Q=0.000, */*", False),
    ("application/openmetrics-text;q=0.5, text/plain;q=0.6", False), ("application/openmetrics-texts", False), ("application/openmetrics", False),
    ("x-application/openmetrics-text", False), ("text/plain;a=\"application/openmetrics-text\"", False), ("*/*", False), ("", False)])
def test_who_gets_it(daemon, accept, wanted):
    kind = daemon.get("/metrics", Accept=accept).headers["Content-Type"]
    assert kind == ("application/openmetrics-text; version=1.0.0; charset=utf-8" if wanted else "text/plain; version=0.0.4")


@pytest.mark.parametrize("family", ["burin_request_duration_seconds", "burin_queue_wait_seconds", "burin_stage_seconds"])
def test_buckets_double(text, family):
    """From half a millisecond to 32 seconds; they are cumulative, and each exemplar lies in its bucket."""
    kind, samples = read(text)[family]
    assert kind == "histogram"
    series = {tuple(label for label in labels if label[0] != "le") for (_, labels) in samples}
    if family == "burin_stage_seconds":
        stages = ["receive", "queue", "decode", "upload", "compute", "download", "encode", "wait"]
        assert sorted(series) == sorted((("stage", stage),) for stage in stages)
    exemplars = 0
    for labels in series:
        before, low = 0, 0
        for bound in BOUNDS:
            value, exemplar = samples[f"{family}_bucket", (*labels, ("le", "+Inf" if bound == float("inf") else f"{bound:g}"))]
            assert value >= before
            if exemplar:
                trace, seconds, at = exemplar
                exemplars += 1
                assert value > before and low < seconds <= bound or seconds == low == 0
                assert re.fullmatch("[0-9a-f]{32}", trace) and abs(time.time() - at) < 3600
            before, low = value, bound
        assert before == samples[f"{family}_count", labels][0]
        assert samples[f"{family}_sum", labels][0] >= 0
    assert exemplars >= 1
    assert len([key for key in samples if key[0].endswith("_bucket")]) == len(series) * len(BOUNDS)


def test_a_slow_request_is_found_by_its_exemplar(start):
    """From the bucket of a histogram to the line in the log: the trace of a sampled request stays before those of others."""
    daemon = start()
    answer = daemon.post("/histeq", PICTURE, {"traceparent": f"00-{SENT}-b7ad6b7169203331-01"})
    assert answer.status == 200
    time.sleep(1.1)  # from now on others could replace it
    for _ in range(50):
        assert daemon.post("/histeq", PICTURE).status == 200
    assert wait_until(lambda: daemon.samples().get("burin_queue_wait_seconds_count") == 51)
    found = {exemplar[0] for _, samples in read(scrape(daemon)).values() for _, exemplar in samples.values() if exemplar}
    assert SENT in found and f'"trace_id":"{SENT}"' in daemon.log_text()


def test_the_sum_of_each_stage_is_the_reports(start):
    daemon = start()
    reports = [daemon.post("/resize?width=300", pnm(noise(400, 300, 3))).timing["ms"] for _ in range(5)]
    assert wait_until(lambda: daemon.samples().get('burin_stage_seconds_count{stage="decode"}') == 5)
    now = daemon.samples()
    for stage in ("receive", "queue", "decode", "upload", "compute", "download", "encode", "wait"):
        assert abs(now[f'burin_stage_seconds_sum{{stage="{stage}"}}'] * 1000 - sum(ms[stage] for ms in reports)) < 0.01
        for bound in BOUNDS[:-1]:
            few = sum(ms[stage] <= bound * 1000 - 0.001 for ms in reports)  # a report has three decimals
            many = sum(ms[stage] <= bound * 1000 + 0.001 for ms in reports)
            assert few <= now[f'burin_stage_seconds_bucket{{stage="{stage}",le="{bound:g}"}}'] <= many
