"""A small made-up document of a run, complete enough for every section of the report."""

WINDOW = {
    "requests": 1000,
    "failed": 0,
    "seconds": 1.0,
    "requests_per_second": 1000.0,
    "p50_ms": 1.0,
    "p80_ms": 2.0,
    "p99_ms": 4.0,
    "max_ms": 8.0,
    "received_bytes": 1_000_000,
    "cpu_us_per_request": 100.0,
    "user_us_per_request": 40.0,
    "upstream_cpu_us_per_request": 10.0,
    "upstream_calls": 1.0,
    "upstream_connections": 0,
    "peak_bytes": 50_000_000,
    "foreign_cpu": 0.01,
    "load_average": 1.0,
}

CHECKED = {"calls_per_request": 1.0, "new_connections": 1, "requests": 20, "answer_bytes": 1234}


def series(point, contender, *rates, **members):
    """One series with a window for each rate."""
    connections = int(point.partition("@")[2] or 100)
    windows = [
        {"round": number, "turn": 0} | WINDOW | members | {"requests_per_second": float(rate)} for number, rate in enumerate(rates)
    ]
    return {"point": point, "connections": connections, "contender": contender, "checked": CHECKED, "windows": windows}


def curve(name, contender, sizes, milliseconds):
    points = [
        {"size": size, "rounds": [{"requests": 5, "wall_ms": milliseconds(size) * 2, "cpu_ms": milliseconds(size)}]}
        for size in sizes
    ]
    return {"curve": name, "contender": contender, "points": points}


def document():
    titles = {"H": "no hook", "H-status": "patch status", "A": "pass-through", "D": "eleven calls", "J": "JSON", "E": "XML", "F": "messages", "G": "large"}
    calls = {"D": 11}
    return {
        "environment": {
            "cpu": "Some CPU",
            "cores": 2,
            "workers_per_contender": 2,
            "memory_mb": 8192,
            "system": "Linux 6.1",
            "versions": {"nginx": "nginx version: nginx/1.22", "undici": "7.0.0"},
            "time": "2012-01-31T00:00:00Z",
        },
        "settings": {
            "rounds": 3,
            "rounds_asked": 3,
            "seconds": 1,
            "connections": 100,
            "crowd": 500,
            "seed": 1,
            "quick": False,
            "minutes": 2.0,
            "load_average_before": 0.5,
        },
        "left_out": {"hive": "npm ci failed"},
        "scenarios": [{"name": name, "title": title, "upstream_calls": calls.get(name, 1)} for name, title in titles.items()],
        "contenders": [{"name": name, "title": name.upper()} for name in ("nginx", "qlio", "plain", "lua", "node", "bare")],
        "series": [
            series("A", "nginx", 1000, 1100, 900),
            series("A", "qlio", 900, 1100, 855),
            series("D", "qlio", 500, 520, 480, upstream_calls=11.05, cpu_us_per_request=130.0),
            series("D", "plain", 500, 520, 480, upstream_calls=11.05, cpu_us_per_request=140.0),
            series("D", "bare", 600, 610, 590, upstream_calls=11.0),
            series("J", "qlio", 1000, 1000, 1000),
            series("E", "qlio", 400, 500, 450),
            series("F", "qlio", 1300, 1300, 1300),
            series("H", "qlio", 1000, 1000, 1000, cpu_us_per_request=60.0),
            series("H-status", "qlio", 900, 900, 900, cpu_us_per_request=64.5),
            series("G", "nginx", 100, 100, 100),
            series("G", "qlio", 50, 50, 50, p50_ms=2.0),
            series("A@500", "qlio", 900, 900, 900),
            series("D@500", "qlio", 400, 400, 400, peak_bytes=90_000_000, upstream_calls=11.0),
        ],
        "growth": [
            curve("fan-out", "qlio", (1, 10, 100, 1000), lambda size: 0.1 * size),
            # Left out from the third size on.
            curve("fan-out", "node", (1, 10), lambda size: 0.2 * size),
            curve("join", "qlio", (100, 10_000, 1_000_000), lambda size: 0.001 * size),
        ],
        "start": [{"catalog": "500 tables, 200 routes", "ms": [90.0, 110.0, 100.0]}],
        "compile": {"eleven_calls": [60.0, 62.0, 61.0]},
    }
