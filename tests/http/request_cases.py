# SPDX-License-Identifier: Apache-2.0
"""The requests of test_request_check.py, also sent by tests/bench/limits.py: whole, as bytes, made with the standard library alone."""

LINE = b"POST /histeq HTTP/1.1\r\n"
HOST = b"Host: x\r\n"
PICTURE = b"P5\n9 7\n255\n" + bytes(range(0, 252, 4))
LENGTH = b"Content-Length: %d\r\n" % len(PICTURE)
# Runs, and is counted, if it is taken for a request.
SMUGGLED = b"POST /grayscale HTTP/1.1\r\nHost: x\r\n" + LENGTH + b"\r\n" + PICTURE


def request(*headers, line=LINE, body=PICTURE):
    return line + b"".join(headers) + b"\r\n" + body


CASES = {
    # framing
    "TE and CL": request(HOST, LENGTH, b"Transfer-Encoding: chunked\r\n", body=b"0\r\n\r\n"),
    "CL and TE": request(HOST, b"Transfer-Encoding: chunked\r\n", LENGTH, body=b"0\r\n\r\n"),
    "CL 0 and TE": request(HOST, b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", body=b"0\r\n\r\n"),
    "two different CL": request(HOST, LENGTH, b"Content-Length: 5\r\n"),
    "two different CL, short one first": request(HOST, b"Content-Length: 5\r\n", LENGTH),
    "two equal CL": request(HOST, LENGTH, LENGTH),
    "CL beyond 63 bits": request(HOST, b"Content-Length: 9223372036854775808\r\n"),
    "TE gzip": request(HOST, b"Transfer-Encoding: gzip\r\n", body=b"0\r\n\r\n"),
    "TE gzip, chunked": request(HOST, b"Transfer-Encoding: gzip, chunked\r\n", body=b"0\r\n\r\n"),
    "TE chunked, gzip": request(HOST, b"Transfer-Encoding: chunked, gzip\r\n", body=b"0\r\n\r\n"),
    "TE identity": request(HOST, b"Transfer-Encoding: identity\r\n", LENGTH),
    "TE xchunked": request(HOST, b"Transfer-Encoding: xchunked\r\n", body=b"0\r\n\r\n"),
    "TE chunked in quotes": request(HOST, b'Transfer-Encoding: "chunked"\r\n', body=b"0\r\n\r\n"),
    "TE with a blank behind": request(HOST, b"Transfer-Encoding: chunked \r\n", body=b"0\r\n\r\n"),
    "TE with a tab behind": request(HOST, b"Transfer-Encoding: chunked\t\r\n", body=b"0\r\n\r\n"),
    "TE chunked twice": request(HOST, b"Transfer-Encoding: chunked\r\n" * 2, body=b"0\r\n\r\n"),
    "TE chunked, chunked": request(HOST, b"Transfer-Encoding: chunked, chunked\r\n", body=b"0\r\n\r\n"),
    "TE empty": request(HOST, b"Transfer-Encoding:\r\n", body=b"0\r\n\r\n"),
    "TE in HTTP/1.0": request(b"Transfer-Encoding: chunked\r\n", line=b"POST /histeq HTTP/1.0\r\n",
                              body=b"0\r\n\r\n"),
    "TE with a blank before the colon": request(HOST, b"Transfer-Encoding : chunked\r\n", body=b"0\r\n\r\n"),
    "CL with a blank before the colon": request(HOST, b"Content-Length : 5\r\n"),
    # Host
    "no Host": request(LENGTH),
    "no header at all": request(body=b""),
    "two Hosts": request(HOST, b"Host: y\r\n", LENGTH),
    "two equal Hosts": request(HOST, HOST, LENGTH),
    "a list as Host": request(b"Host: x, y\r\n", LENGTH),
    "Host with a user": request(b"Host: u@x\r\n", LENGTH),
    "Host with a path": request(b"Host: x/y\r\n", LENGTH),
    "Host with a port that is none": request(b"Host: x:80a\r\n", LENGTH),
    # bytes that do not belong
    "bell in a value": request(HOST, LENGTH, b"X: a\x07b\r\n"),
    "bare CR in a value": request(HOST, LENGTH, b"X: a\rb\r\n"),
    "bare CR before a header": request(HOST, b"X: a\rContent-Length: 0\r\n", LENGTH),
    "DEL in a value": request(HOST, LENGTH, b"X: \x7f\r\n"),
    "escape in a value": request(HOST, LENGTH, b"X: \x1b[2J\r\n"),
    "folded line": request(HOST, LENGTH, b"X: a\r\n b\r\n"),
    "folded line with a tab": request(HOST, LENGTH, b"X: a\r\n\tb\r\n"),
    "folded TE": request(HOST, b"Transfer-Encoding:\r\n chunked\r\n", body=b"0\r\n\r\n"),
    "blank before the first header": LINE + b" " + HOST + LENGTH + b"\r\n" + PICTURE,
    "NUL in a value": request(HOST, LENGTH, b"X: a\0b\r\n"),
    "bare LF between headers": LINE + b"Host: x\n" + LENGTH + b"\r\n" + PICTURE,
    "bare LF behind the request line": b"POST /histeq HTTP/1.1\n" + HOST + LENGTH + b"\r\n" + PICTURE,
    "blank in a name": request(HOST, LENGTH, b"X Y: a\r\n"),
    "blank before a colon": request(HOST, LENGTH, b"X : a\r\n"),
    "brackets in a name": request(HOST, LENGTH, b"X(): a\r\n"),
    "slash in a name": request(HOST, LENGTH, b"X/Y: a\r\n"),
    "umlaut in a name": request(HOST, LENGTH, b"X\xe4: a\r\n"),
    "no name": request(HOST, LENGTH, b": a\r\n"),
    "101 headers": request(HOST, LENGTH, b"X: a\r\n" * 99),
    # the request line
    "HTTP/1.9": request(HOST, LENGTH, line=b"POST /histeq HTTP/1.9\r\n"),
    "blank in the target": request(HOST, LENGTH, line=b"POST /histeq /x HTTP/1.1\r\n"),
    "URL with a user": request(HOST, LENGTH, line=b"POST http://u@x/histeq HTTP/1.1\r\n"),
    "URL without a host": request(HOST, LENGTH, line=b"POST http:///histeq HTTP/1.1\r\n"),
    "URL without a host, with a port": request(HOST, LENGTH, line=b"POST http://:80/histeq HTTP/1.1\r\n"),
    "URL with a port that is none": request(HOST, LENGTH, line=b"POST http://x:8a/histeq HTTP/1.1\r\n"),
    "URL of another scheme": request(HOST, LENGTH, line=b"POST ftp://x/histeq HTTP/1.1\r\n"),
    "URL with one slash": request(HOST, LENGTH, line=b"POST http:/x/histeq HTTP/1.1\r\n"),
    "URL with a fragment": request(HOST, LENGTH, line=b"POST http://x/histeq#a HTTP/1.1\r\n"),
    "URL without Host header": request(LENGTH, line=b"POST http://x/histeq HTTP/1.1\r\n"),
    "%00 in a URL": request(HOST, LENGTH, line=b"POST http://x/histeq%00 HTTP/1.1\r\n"),
    "target without a slash": request(HOST, LENGTH, line=b"POST histeq HTTP/1.1\r\n"),
    "fragment": request(HOST, LENGTH, line=b"POST /histeq#a HTTP/1.1\r\n"),
    "raw umlaut in the target": request(HOST, LENGTH, line=b"POST /histeq?\xc3\xa4 HTTP/1.1\r\n"),
    "tab in the target": request(HOST, LENGTH, line=b"POST /histeq?\tx HTTP/1.1\r\n"),
    "method that is no word": request(HOST, LENGTH, line=b"PO(ST /histeq HTTP/1.1\r\n"),
    "asterisk as target": request(HOST, line=b"GET * HTTP/1.1\r\n", body=b""),
    "asterisk and more as target": request(HOST, line=b"OPTIONS *x HTTP/1.1\r\n", body=b""),
    "two Content-Types": request(HOST, LENGTH, b"Content-Type: image/png\r\n", b"Content-Type: image/jpeg\r\n"),
    "two equal Content-Types": request(HOST, LENGTH, b"Content-Type: image/png\r\n" * 2),
    "HTTP/1.10": request(HOST, LENGTH, line=b"POST /histeq HTTP/1.10\r\n"),
    "HTTP/2.0": request(HOST, LENGTH, line=b"POST /histeq HTTP/2.0\r\n"),
    "HTTP/0.9": request(HOST, LENGTH, line=b"POST /histeq HTTP/0.9\r\n"),
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": b"POST /histeq\r\n" + HOST + b"\r\n",
    "one word": b"POST\r\n" + HOST + b"\r\n",
    "blank before the method": request(HOST, LENGTH, line=b" POST /histeq HTTP/1.1\r\n"),
    "blank behind the version": request(HOST, LENGTH, line=b"POST /histeq HTTP/1.1 \r\n"),
    "two blanks in the request line": request(HOST, LENGTH, line=b"POST  /histeq HTTP/1.1\r\n"),
    "NUL in the request line": request(HOST, LENGTH, line=b"POST /histeq\0 HTTP/1.1\r\n"),
    "%00 in the value of an argument": request(HOST, LENGTH, line=b"POST /histeq?bins=16%00zz HTTP/1.1\r\n"),
    "%00 in the name of an argument": request(HOST, LENGTH, line=b"POST /histeq?bins%00x=16 HTTP/1.1\r\n"),
    "%00 in the path": request(HOST, LENGTH, line=b"POST /histeq%00foo HTTP/1.1\r\n"),
    "%00 in the path of a probe": request(HOST, line=b"GET /metrics%00x HTTP/1.1\r\n", body=b""),
    "65 arguments": request(HOST, LENGTH, line=b"POST /histeq?" + b"a&" * 64 + b"a HTTP/1.1\r\n"),
    "741 arguments": request(HOST, LENGTH, line=b"POST /histeq?" + b"a&" * 740 + b" HTTP/1.1\r\n"),
    "empty lines without end": b"\r\n" * 50000 + request(HOST, LENGTH),
    "Expect with a blank behind": request(HOST, LENGTH, b"Expect: 100-continue \r\n"),
    # a Content-Length that is not a number
    "CL with a sign": request(HOST, b"Content-Length: +5\r\n"),
    "negative CL": request(HOST, b"Content-Length: -5\r\n"),
    "CL in hexadecimal": request(HOST, b"Content-Length: 0x5\r\n"),
    "CL with a blank behind": request(HOST, b"Content-Length: 5 \r\n"),
    "CL with a blank within": request(HOST, b"Content-Length: 5 5\r\n"),
    "CL of a word": request(HOST, b"Content-Length: five\r\n"),
    "CL empty": request(HOST, b"Content-Length:\r\n"),
    "a list as CL": request(HOST, b"Content-Length: 5, 5\r\n"),
    "CL beyond 64 bits": request(HOST, b"Content-Length: 18446744073709551621\r\n"),
    # ends of lines
    "NUL in a name": request(HOST, LENGTH, b"X\0: a\r\n"),
    "NUL at the end of the last value": LINE + HOST + LENGTH + b"X: a\0\r\n\r\n" + PICTURE,
    "line without a colon": request(HOST, LENGTH, b"nothing\r\n"),
    "bare LF behind the last header": LINE + HOST + LENGTH[:-2] + b"\n\r\n" + PICTURE,
    "bare LF as the empty line": LINE + HOST + LENGTH + b"\n" + PICTURE,
    "bare LF everywhere": (LINE + HOST + LENGTH + b"\r\n").replace(b"\r", b"") + PICTURE,
    "bare CR everywhere": (LINE + HOST + LENGTH + b"\r\n").replace(b"\n", b"") + PICTURE,
}


def chunked(*pieces):
    return request(HOST, b"Transfer-Encoding: chunked\r\n", body=b"".join(pieces))


SIZE = b"%x" % len(PICTURE)
# Refused in the body, behind a good head.
IN_THE_BODY = {
    "bare LF between chunks": chunked(SIZE, b"\n", PICTURE, b"\n0\n\n"),
    "bare LF behind a size": chunked(SIZE, b"\n", PICTURE, b"\r\n0\r\n\r\n"),
    "bare LF behind a chunk": chunked(SIZE, b"\r\n", PICTURE, b"\n0\r\n\r\n"),
    "bare LF behind the last size": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\n\r\n"),
    "bare LF behind the trailers": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\r\n\n"),
    "bare CR behind a size": chunked(SIZE, b"\r", PICTURE, b"\r\n0\r\n\r\n"),
    "chunk longer than its size": chunked(b"5\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "no size": chunked(b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "size with a sign": chunked(b"+" + SIZE, b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "negative size": chunked(b"-1\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "size with 0x": chunked(b"0x" + SIZE, b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "size with a blank behind": chunked(SIZE + b" ", b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "size of a word": chunked(b"five\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "size beyond 64 bits": chunked(b"10000000000000005\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "size of 65 bits that wraps to the right one": chunked(b"1" + SIZE.rjust(16, b"0"), b"\r\n", PICTURE,
                                                          b"\r\n0\r\n\r\n"),
    "NUL in a size": chunked(SIZE + b"\0", b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "extension with a bare LF": chunked(SIZE + b";a\nb", b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "extension without a name": chunked(SIZE + b";", b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "extension that is no token": chunked(SIZE + b";a b", b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "extension without its value": chunked(SIZE + b";a=", b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "extension whose quotes stay open": chunked(SIZE + b';a="b', b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "text behind an extension's quotes": chunked(SIZE + b';a="b"c', b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "extension behind the last size that is none": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0;=\r\n\r\n"),
    "extension without end": chunked(SIZE + b";" + b"a" * 5000, b"\r\n", PICTURE, b"\r\n0\r\n\r\n"),
    "trailer without a colon": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\r\nnothing\r\n\r\n"),
    "trailer with a NUL": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\r\nX: \0\r\n\r\n"),
    "folded trailer": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\r\nX: a\r\n b\r\n\r\n"),
    "long trailer": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\r\nX: ", b"a" * 5000, b"\r\n\r\n"),
    "trailers without end": chunked(SIZE, b"\r\n", PICTURE, b"\r\n0\r\n", b"X: a\r\n" * 5000, b"\r\n"),
}
