# SPDX-License-Identifier: Apache-2.0
"""Trace Context: every answer, problem and log line of a request has the trace that the client began, or a new one.

covers: server/trace.c"""
import json
import re

import pytest

from conftest import check_problem, noise, pnm, responses

PICTURE = pnm(noise(16, 12))
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"}


def parts(headers):
    """(trace id, span id, flags) of an answer, checked by the grammar of W3C."""
    found = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", headers["traceparent"])
    assert found and set(found[1]) != {"0"} and set(found[2]) != {"0"}
    return found.groups()


ANSWERS = [("POST", "/histeq", PICTURE, 200), ("POST", "/info", PICTURE, 200), ("POST", "/histeq?bins=0", PICTURE, 400),
           ("POST", "/nothing", PICTURE, 404), ("GET", "/histeq", None, 405), ("POST", "/histeq", b"no picture", 415)]


@pytest.mark.parametrize("method, path, body, status", ANSWERS)
def test_a_trace_goes_on(daemon, method, path, body, status):
    answer = daemon.request(method, path, body, SENT)
    trace, span, flags = parts(answer.headers)
    assert (answer.status, trace, flags) == (status, TRACE, "01") and span != SPAN
    assert answer.headers["tracestate"] == SENT["tracestate"]
    logged = daemon.logged(span_id=span)
    assert logged["trace_id"] == TRACE and logged["status"] == status
    if status >= 400:
        assert check_problem(answer, status)["trace_id"] == TRACE


@pytest.mark.parametrize("method, path, body, status", ANSWERS)
def test_a_trace_begins(daemon, method, path, body, status):
    """Nothing that was sent without a valid traceparent is believed."""
    seen = set()
    for sent in ({}, {"tracestate": "a=1"}, {"traceparent": "00-0-0-0", "tracestate": "a=1"}):
        answer = daemon.request(method, path, body, sent)
        trace, span, flags = parts(answer.headers)
        assert answer.status == status and flags == "00" and "tracestate" not in answer.headers
        assert daemon.logged(span_id=span)["trace_id"] == trace
        seen |= {trace, span}
    assert len(seen) == 6


def test_the_answers_without_work_have_it_too(daemon):
    for path in ("/livez", "/readyz", "/metrics", "/ops", "/openapi.json", "/"):
        trace, _, flags = parts(daemon.get(path, traceparent=f"00-{TRACE}-{SPAN}-00").headers)
        assert (trace, flags) == (TRACE, "00")


def test_a_refusal_in_the_middle_of_a_body(daemon):
    """It goes past the library."""
    sent = b"".join(f"{name}: {value}\r\n".encode() for name, value in SENT.items())
    ((status, headers, body),) = responses(
        daemon.raw(b"POST /nothing HTTP/1.1\r\nHost: x\r\n%sContent-Length: 9000000\r\n\r\nabc" % sent))
    assert status == 404 and parts(headers)[0] == json.loads(body)["trace_id"] == TRACE
    assert headers["tracestate"] == SENT["tracestate"] and daemon.logged(span_id=parts(headers)[1])["trace_id"] == TRACE


@pytest.mark.parametrize("state", ["A=1", "a=1,a=2", "a=" + "b" * 257, "a=\u00e4", ",".join(f"k{i}=v" for i in range(33)), "x" * 600])
def test_a_malformed_tracestate_is_dropped_alone(daemon, state):
    answer = daemon.post("/histeq", PICTURE, {**SENT, "tracestate": state})
    assert answer.status == 200 and parts(answer.headers)[0] == TRACE and "tracestate" not in answer.headers


def test_the_longest_tracestate_fits(daemon):
    state = f"a={'b' * 250},c={'d' * 250},e=1234"
    assert len(state) == 512
    answer = daemon.post("/histeq", PICTURE, {**SENT, "tracestate": state})
    assert answer.status == 200 and answer.headers["tracestate"] == state
