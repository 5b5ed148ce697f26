"""An API on a free port: products, one of which never comes. And an app over it."""

import contextlib
import http.server
import json
import pathlib
import tempfile
import threading

PATIENCE = 60.0


class Upstream:
    """What was asked, and how often somebody hung up."""

    def __init__(self) -> None:
        self.asked = 0
        self.hung_up = 0
        self.over = threading.Event()
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                upstream.asked += 1
                if self.path == "/products/slow":
                    # Comes back when the other side hangs up, or the test is over.
                    self.connection.settimeout(0.02)
                    while not upstream.over.is_set():
                        with contextlib.suppress(TimeoutError):
                            if not self.connection.recv(1):
                                upstream.hung_up += 1
                                break
                    self.close_connection = True
                    return
                body = json.dumps({"title": "Mira lantern", "price": 42}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def make_app() -> tempfile.TemporaryDirectory:
    """A folder with the app `shop` of the README."""
    folder = tempfile.TemporaryDirectory(prefix="qlio-python-")
    shop = pathlib.Path(folder.name) / "shop"
    files = {
        "tables/product.ql": "create table product on select get from '{config.shop}/products/{^id}'",
        "routes/product.ql": "return select title as title, price as price from product where id = '{id}'\n"
        "  via route '/products/{id}' using method get",
    }
    for name, text in files.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text)
    return folder
