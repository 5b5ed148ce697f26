"""An nginx with one worker and one location, for measurements that need no data set of an upstream."""

from pathlib import Path

from . import tools
from .processes import free_port

CONFIG = """
daemon off; pid {folder}/{name}.pid; error_log {folder}/{name}.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  access_log {access_log}; keepalive_requests 100000000; {temporary}
  {upstream}
  server {{ listen 127.0.0.1:{port}; location {location} }}
}}
"""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def start(processes, name, folder: Path, location, *, upstream="", access_log="off"):
    """Its port, when it listens; the text of the location is a pattern and a block."""
    port = free_port()
    text = CONFIG.format(
        folder=folder,
        name=name,
        access_log=access_log,
        temporary=" ".join(f"{kind}_temp_path {folder}/{name}-{kind};" for kind in TEMPORARY),
        upstream=upstream,
        port=port,
        location=location,
    )
    config = folder / f"{name}.conf"
    config.write_text(text, encoding="utf-8")
    command = [tools.program("nginx"), "-c", config, "-p", folder, "-e", folder / f"{name}.log"]
    processes.wait_for_port(name, processes.start(name, command), port)
    return port


def json_at(pattern, text):
    """The location of one answer; the text must hold no `'`."""
    return f"{pattern} {{ default_type application/json; return 200 '{text}'; }}"
