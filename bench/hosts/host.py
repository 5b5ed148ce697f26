"""One way of asking, from Python, for some seconds: `python host.py '{"way": …}'` where qlio_engine is installed.

Prints calls, seconds and processor time (its own, and that of the server, if one was asked) as JSON.
"""

import asyncio
import gc
import http.client
import json
import os
import sys
import time

ASKED = json.loads(sys.argv[1])


def server_seconds():
    with open(f"/proc/{ASKED['server']}/stat", encoding="utf-8") as account:
        fields = account.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(keep_asking):
    """Runs it with and without being measured; it takes seconds and gives the number of calls."""
    keep_asking(ASKED["warmUp"])
    own, server, began = time.process_time(), server_seconds(), time.perf_counter()
    calls = keep_asking(ASKED["seconds"])
    seconds, host = time.perf_counter() - began, time.process_time() - own
    spent = server_seconds() - server if ASKED["way"].startswith("http") else 0
    print(json.dumps({"calls": calls, "seconds": seconds, "host": host, "server": spent}))


def check(answer):
    text = json.dumps(answer, separators=(",", ":"))
    if text != ASKED["answer"]:
        raise RuntimeError(f"the answer is {text}")


def open_engine():
    from qlio_engine import Engine

    return Engine(ASKED["app"], config={"upstream": ASKED["upstream"]}, threads=1)


def one_after_the_other(ask):
    check(ask())

    def keep_asking(seconds):
        end, calls = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            ask()
            calls += 1
        return calls

    measured(keep_asking)


def many_at_once(loop, ask):
    check(loop.run_until_complete(ask()))

    async def clients(seconds):
        end, calls = time.perf_counter() + seconds, 0

        async def client():
            nonlocal calls
            while time.perf_counter() < end:
                await ask()
                calls += 1

        await asyncio.gather(*(client() for _ in range(ASKED["atOnce"])))
        return calls

    measured(lambda seconds: loop.run_until_complete(clients(seconds)))


def http_blocking():
    connection = http.client.HTTPConnection("127.0.0.1", ASKED["port"])

    def ask():
        connection.request("GET", ASKED["path"])
        return json.loads(connection.getresponse().read())

    one_after_the_other(ask)
    connection.close()


def call_blocking():
    with open_engine() as engine:
        one_after_the_other(lambda: engine.call_sync(ASKED["path"]).json())


def in_loop(make):
    loop = asyncio.new_event_loop()
    try:
        ask, close = loop.run_until_complete(make())
        many_at_once(loop, ask)
        loop.run_until_complete(close())
    finally:
        loop.close()


async def http_awaited():
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=ASKED["atOnce"]))
    url = f"http://127.0.0.1:{ASKED['port']}{ASKED['path']}"

    async def ask():
        async with session.get(url) as response:
            return json.loads(await response.read())

    return ask, session.close


async def call_awaited():
    engine = open_engine()

    async def ask():
        return (await engine.call(ASKED["path"])).json()

    return ask, engine.close


async def exec_awaited():
    engine = open_engine()

    async def ask():
        return (await engine.exec(ASKED["script"], request=ASKED["request"])).body

    return ask, engine.close


def resident():
    """What is resident, in MiB."""
    gc.collect()
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def memory():
    """Half of the runs, then the other half: does memory stay where it is?"""
    with open_engine() as engine:

        async def half():
            for _ in range(0, ASKED["runs"] // 2, ASKED["atOnce"]):
                runs = (engine.exec('return {"n": "{n}"}', context={"n": n}) for n in range(ASKED["atOnce"]))
                await asyncio.gather(*runs)

        sizes = []
        for _ in range(2):
            asyncio.run(half())
            sizes.append(resident())
        print(json.dumps(sizes))


WAYS = {
    "memory": memory,
    "http-blocking": http_blocking,
    "call-blocking": call_blocking,
    "http": lambda: in_loop(http_awaited),
    "call": lambda: in_loop(call_awaited),
    "exec": lambda: in_loop(exec_awaited),
}

if __name__ == "__main__":
    WAYS[ASKED["way"]]()
