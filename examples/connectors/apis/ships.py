#!/usr/bin/env python3
"""A connector for qlio in Python, of the standard library alone: ships of a CSV file.

    ships.py --listen 127.0.0.1:7071 ships.csv
    ships.py --listen unix:/run/ships.sock ships.csv

It answers two requests, which docs/reference/connector-protocol.md describes:
GET /describe says what can be asked, POST /execute answers one statement.
"""

import argparse
import csv
import json
import os
import socketserver
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE_ROWS = 100
REQUEST_BYTES_MAX = 1 << 20

TYPES = {"name": "text", "home": "text", "masts": "number"}

TESTS = {
    "=": lambda a, b: a == b,
    "in": lambda a, b: a in b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

DESCRIPTION = {
    "protocol": 1,
    "name": "ships",
    "verbs": {
        "list": {
            "kinds": ["select"],
            "sources": {
                "ships": {
                    "columns": {
                        name: {"type": kind, "tests": ["=", "<", "<=", ">", ">="]}
                        for name, kind in TYPES.items()
                    },
                    "pushes": ["columns", "limit", "offset"],
                }
            },
        },
        "add": {
            "kinds": ["insert"],
            "sources": {"ships": {"parameters": {name: {"type": kind, "required": True} for name, kind in TYPES.items()}}},
        },
    },
}


class Refused(Exception):
    """What the caller has done wrong."""

    def __init__(self, message, status=400, position=None):
        super().__init__(message)
        self.status, self.position = status, position


def read_ships(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{**row, "masts": int(row["masts"])} for row in csv.DictReader(file)]


def passes(ship, test):
    """Whether a ship passes one test of the statement; a value of another type passes none."""
    column, value = ship[test["column"]], test["value"]
    try:
        return TESTS[test["test"]](column, value)
    except TypeError:
        return False


def select(ships, request):
    tests = request.get("tests", [])
    found = [ship for ship in ships if all(passes(ship, test) for test in tests)]
    begin = int(request.get("page") or request.get("offset") or 0)
    end = len(found)
    if request.get("limit") is not None:
        end = min(end, int(request.get("offset") or 0) + int(request["limit"]))
    columns = request.get("columns") or list(TYPES)
    upto = min(begin + PAGE_ROWS, end)
    answer = {"rows": [{name: ship[name] for name in columns} for ship in found[begin:upto]]}
    if upto < end:
        answer["next"] = str(upto)
    return answer


def add(ships, request):
    values = request.get("values") or {}
    if not isinstance(values.get("masts"), int):
        raise Refused("`masts` must be a whole number", 422)
    ship = {name: values[name] for name in TYPES}
    ships.append(ship)
    return {"value": ship}


def execute(ships, request):
    if request.get("at") != "ships":
        raise Refused(f"there is no source `{request.get('at')}`, only `ships`", 404, position=1)
    return {"list": select, "add": add}[request["verb"]](ships, request)


def handler(ships):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if self.path == "/describe":
                self.answer(200, DESCRIPTION)
            else:
                self.answer(404, {"error": {"message": "only /describe and /execute are here"}})

        def do_POST(self):
            length = int(self.headers.get("content-length") or 0)
            if length > REQUEST_BYTES_MAX:
                self.close_connection = True
                return self.answer(413, {"error": {"message": "the request is too long"}})
            body = self.rfile.read(length)
            if self.path != "/execute":
                return self.answer(404, {"error": {"message": "only /describe and /execute are here"}})
            try:
                self.answer(200, execute(ships, json.loads(body)))
            except Refused as refused:
                error = {"message": str(refused), "status": refused.status}
                if refused.position is not None:
                    error["position"] = refused.position
                self.answer(refused.status, {"error": error})
            except (KeyError, TypeError, ValueError) as wrong:
                self.answer(400, {"error": {"message": f"no usable request: {wrong!r}"}})

        def answer(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self):
            return "qlio"

        def log_message(self, *_):
            pass

    return Handler


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser(description="ships of a CSV file, for qlio")
    parser.add_argument("--listen", default="127.0.0.1:7071", help="host:port or unix:PATH")
    parser.add_argument("file", nargs="?", default=os.path.join(os.path.dirname(__file__), "ships.csv"))
    options = parser.parse_args()
    serving = handler(read_ships(options.file))
    if options.listen.startswith("unix:"):
        path = options.listen.removeprefix("unix:")
        if os.path.exists(path):
            os.unlink(path)
        server = UnixServer(path, serving)
        print(f"unix:{path}", flush=True)
    else:
        host, port = options.listen.rsplit(":", 1)
        server = ThreadingHTTPServer((host, int(port)), serving)
        print(f"http://{host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
