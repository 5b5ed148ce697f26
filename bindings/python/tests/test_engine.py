"""The package as programs see it: whatever `qlio_engine` is installed."""

import ast
import asyncio
import functools
import gc
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time

import pytest
from upstream import PATIENCE, Upstream, make_app

import qlio_engine
from qlio_engine import CallAnswer, Engine, QlioError

SLOW = "return select * from product where id = 'slow'"
README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def in_loop(test):
    """A test that is a coroutine, in a loop of its own."""

    @functools.wraps(test)
    def run(*arguments, **more):
        asyncio.run(asyncio.wait_for(test(*arguments, **more), PATIENCE))

    return run


@pytest.fixture(scope="module")
def upstream():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def folder():
    with make_app() as folder:
        yield folder


@pytest.fixture(scope="module")
def shop(folder):
    return pathlib.Path(folder) / "shop"


@pytest.fixture(scope="module")
def engine(shop, upstream):
    with Engine(shop, config={"shop": upstream.base}, threads=2) as engine:
        yield engine


async def outcome(awaitable):
    """How it ends, as a value."""
    try:
        return await awaitable
    except (QlioError, asyncio.CancelledError) as error:
        return error


async def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        await asyncio.sleep(0.005)


def program(text, **more):
    """A program of its own, to its end."""
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE, **more)


def test_an_app_has_tables_and_routes(engine):
    assert (engine.tables, engine.routes, engine.warnings) == (1, 1, [])
    assert re.fullmatch(r"[0-9a-f]{16,}", engine.fingerprint)


@in_loop
async def test_a_script_answers_with_json(engine):
    script = """row = select title as title from product where id = '{id}'
        return {"row": "{row}", "own": "{own}"}"""
    answer = await engine.exec(script, request={"params": {"id": 7}}, context={"own": [1, "ä"]})
    assert answer.body == {"row": [{"title": "Mira lantern"}], "own": [1, "ä"]}
    assert answer.warnings == []


@in_loop
async def test_a_script_sees_the_request(engine):
    request = {"params": {"p": "x"}, "headers": {"X-A": ["1", "2"]}, "routeParams": {"r": 3}, "body": {"b": [4]}}
    answer = await engine.exec('return {"p": "{p}", "h": "{x-a}", "r": "{r}", "b": "{b}"}', request=request)
    assert answer.body == {"p": "x", "h": "1, 2", "r": "3", "b": [4]}


@in_loop
async def test_a_route_answers_with_bytes(engine):
    answer = await engine.call("/products/7")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == [{"title": "Mira lantern", "price": 42}]
    assert json.loads(answer.text()) == answer.json()
    assert (await engine.call("/nowhere")).status == 404


def test_nobody_needs_an_event_loop(engine):
    assert engine.exec("return 7").wait().body == 7
    assert engine.call_sync("/products/7").status == 200
    run = engine.exec("return 7")
    run.wait()
    with pytest.raises(RuntimeError, match="asked for before"):
        run.wait()


@in_loop
async def test_many_at_once_in_threads_and_tasks(engine):
    def in_thread(n):
        return engine.exec('return {"n": "{n}"}', context={"n": n}).wait().body

    def in_task(n):
        return engine.exec('return {"n": "{n}"}', context={"n": n})

    threads = asyncio.gather(*(asyncio.to_thread(in_thread, n) for n in range(100)))
    answers = await asyncio.gather(*(in_task(n) for n in range(100)))
    expected = [{"n": str(n)} for n in range(100)]
    assert [answer.body for answer in answers] == expected
    assert await threads == expected


@in_loop
async def test_a_script_that_does_not_compile_says_where(engine):
    error = await outcome(engine.exec("a = 1\nreturn select a form b"))
    assert isinstance(error, QlioError)
    assert (error.kind, error.status, error.line, error.code[0]) == ("compile", 400, 2, "Q")
    assert error.column > 1


@in_loop
async def test_a_run_that_fails_says_what_and_where(engine):
    script = "create table t on select get from 'http://127.0.0.1:9/';\nreturn select * from t"
    error = await outcome(engine.exec(script))
    assert (error.kind, error.status, error.code, error.line) == ("run", 502, "Q5002", 2)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.body, again.status) == (str(error), error.body, 502)


def test_what_cannot_be_understood_is_refused_with_its_name(engine, shop):
    with pytest.raises(ValueError, match="there is no folder"):
        Engine("/no/such")
    with pytest.raises(ValueError, match="`threads` of options must be a whole number from 1 to 256"):
        Engine(shop, threads=0)
    with pytest.raises(ValueError, match="`trust` of exec must be"):
        engine.exec("return 1", trust="root")
    with pytest.raises(ValueError, match="request has no member `query`"):
        engine.exec("return 1", request={"query": {}})
    with pytest.raises(ValueError, match="JSON"):
        engine.exec("return 1", context={"n": float("nan")})
    with pytest.raises(ValueError, match="header `a b`"):
        engine.call_sync("/products/7", headers={"a b": "1"})
    with pytest.raises(TypeError):
        engine.exec("return 1", context={"n": object()})


def test_an_app_with_faults_tells_all_of_them(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/a.ql").write_text("create table a on select got from 'http://h.test/'")
    (tmp_path / "tables/b.ql").write_text("create table b on select get from 7")
    with pytest.raises(ValueError) as wrong:
        Engine(tmp_path)
    assert "a.ql" in str(wrong.value) and "b.ql" in str(wrong.value)


@in_loop
async def test_cancelling_and_timeouts_hang_up(engine, upstream):
    hung_up, asked = upstream.hung_up, upstream.asked
    task = asyncio.ensure_future(outcome(asyncio.wait_for(engine.exec(SLOW), PATIENCE)))
    await until(lambda: upstream.asked > asked)
    task.cancel()
    assert isinstance(await task, asyncio.CancelledError)
    await until(lambda: upstream.hung_up > hung_up)
    run = engine.exec(SLOW)
    run.cancel()
    assert (await outcome(run)).kind == "cancelled"
    late = await outcome(engine.exec(SLOW, timeout_ms=20))
    assert (late.kind, late.status) == ("timed-out", 504)
    late = await outcome(engine.call("/products/slow", timeout_ms=20))
    assert (late.kind, late.status) == ("timed-out", 504)


def test_a_signal_gives_up_what_is_waited_for(shop, upstream):
    # A shell that starts the tests beside it has them ignore the signal.
    text = f"""
import signal
from qlio_engine import Engine
signal.signal(signal.SIGINT, signal.default_int_handler)
with Engine({str(shop)!r}, config={{"shop": {upstream.base!r}}}) as engine:
    try:
        engine.exec({SLOW!r}).wait()
    except KeyboardInterrupt:
        print("interrupted")
"""
    asked, hung_up = upstream.asked, upstream.hung_up
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    try:
        asyncio.run(until(lambda: upstream.asked > asked))
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=PATIENCE) == ("interrupted\n", None)
        assert child.returncode == 0
        asyncio.run(until(lambda: upstream.hung_up > hung_up))
    finally:
        child.kill()


@in_loop
async def test_events_come_while_a_script_runs_and_end(engine):
    script = "row = select price as price from product where id = 7\nreturn row"
    run = engine.exec(script, events=["ack", "statement-response", "row", "script-done"])
    events = [event async for event in run.events]
    assert [event.name for event in events] == ["ack", "statement-response", "row", "script-done"]
    assert (events[1].data["status"], events[2].data) == (200, [{"price": 42}])
    assert (await run).body == [{"price": 42}]
    assert [event async for event in engine.exec("return 1").events] == []


@in_loop
async def test_the_event_loop_turns_while_scripts_run(engine):
    turns = 0

    async def turn():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.ensure_future(turn())
    rows = [{"a": n} for n in range(20_000)]
    script = "return select a as a from rows where a >= 0"
    runs = [engine.exec(script, context={"rows": rows}) for _ in range(4)]
    begun = turns
    await asyncio.gather(*(outcome(run) for run in runs))
    turning.cancel()
    assert turns > begun


@in_loop
async def test_budgets_and_rights_are_those_of_the_app(shop, upstream):
    config = {"shop": upstream.base, "limits": {"requests": 2}, "adhoc": {"limits": {"requests": 1}}}
    async with Engine(shop, config=config, threads=1) as engine:
        script = "return select price as price from product where id in ({})"
        too_many = await outcome(engine.exec(script.format("1, 2, 3")))
        assert (too_many.kind, too_many.code, too_many.body["limit"]) == ("run", "Q7016", 2)
        assert len((await engine.exec(script.format("1, 2"))).body) == 2
        too_many = await outcome(engine.exec(script.format("1, 2"), trust="client"))
        assert (too_many.kind, too_many.code, too_many.body["limit"]) == ("run", "Q7016", 1)
        # JavaScript is the operator's alone.
        scripted = 'u = require("u.js")\nreturn "{config.shop}"'
        assert (await outcome(engine.exec(scripted, trust="client"))).status in (400, 403)


@in_loop
async def test_a_closed_engine_refuses_and_a_busy_one_too(shop, upstream):
    small = Engine(shop, config={"shop": upstream.base}, threads=1, max_runs=1)
    asked = upstream.asked
    first = asyncio.ensure_future(outcome(small.exec(SLOW)))
    await until(lambda: upstream.asked > asked)
    assert (await outcome(small.exec("return 1"))).kind == "busy"
    await small.close(grace_ms=0)
    assert (await first).kind == "closed"
    assert (await outcome(small.exec("return 1"))).kind == "closed"
    assert [note async for note in small.notes()] == []
    await small.close()


def test_a_run_keeps_its_engine(shop):
    assert Engine(shop, config={"shop": "http://h.test"}).exec("return 1").wait().body == 1


def test_after_a_fork_an_engine_says_so(shop):
    done = program(f"""
import os
from qlio_engine import Engine
engine = Engine({str(shop)!r}, config={{"shop": "http://h.test"}})
assert engine.exec("return 1").wait().body == 1
child = os.fork()
if child == 0:
    try:
        engine.exec("return 1")
    except RuntimeError as error:
        print(error, flush=True)
else:
    os.waitpid(child, 0)
    print(engine.exec("return 2").wait().body)
""")
    said = "this engine was opened before a fork: open one in the process that uses it\n2\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_a_program_may_end_without_closing(shop):
    done = program(f"""
import qlio_engine
engine = qlio_engine.Engine({str(shop)!r}, config={{"shop": "http://h.test"}})
print(engine.exec("return 1").wait().body)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_the_package_is_typed():
    """Other files are checked by mypy; that the stub tells the truth about the module cannot be."""
    folder = pathlib.Path(qlio_engine.__file__).parent
    assert (folder / "py.typed").exists()
    stub = ast.parse((folder / "_native.pyi").read_text())
    described = {
        part.name: {member.name for member in part.body if isinstance(member, ast.FunctionDef)} - {"__new__"}
        for part in stub.body
        if isinstance(part, ast.ClassDef)
    }
    native = sys.modules["qlio_engine._native"]
    there = {
        name: {member for member in dir(value) if not member.startswith("_")}
        for name, value in vars(native).items()
        if isinstance(value, type)
    }
    assert described == there


@in_loop
async def test_a_body_is_sent_as_what_it_is(tmp_path):
    (tmp_path / "routes").mkdir()
    route = 'return {"a": "{a}", "type": "{content-type}"} via route "/take" using method post'
    (tmp_path / "routes/take.ql").write_text(route)
    async with Engine(tmp_path, threads=1) as engine:
        for body, headers in [({"a": 5}, {}), (b'{"a": 5}', {"content-type": "application/json"})]:
            answer = await engine.call("/take", method="post", body=body, headers=headers)
            assert isinstance(answer, CallAnswer)
            assert (answer.status, answer.json()["a"]) == (200, "5"), answer.text()


def resident():
    """What is resident, in MiB."""
    gc.collect()
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def test_memory_stays_where_it_is(engine):
    runs = int(os.environ.get("RUNS", "3000"))

    async def some():
        for _ in range(0, runs, 50):
            pending = (outcome(engine.exec('return {"n": "{n}"}', context={"n": n})) for n in range(50))
            await asyncio.gather(*pending)

    asyncio.run(some())
    before = resident()
    asyncio.run(some())
    after = resident()
    print(f"# {2 * runs} runs: {before:.1f} MiB at half, {after:.1f} MiB at the end", file=sys.stderr)
    assert after < before * 1.15 + 16


def test_the_examples_of_the_readme_run(folder, upstream):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    done = program("\n".join(blocks), cwd=folder, env={**os.environ, "SHOP": upstream.base})
    printed = [
        "Mira lantern",
        "200 42",
        "statement-response 200",
        "too slow",
        "compile Q1001 1",
        "[{'price': 42}]",
        "200",
    ]
    assert (done.returncode, done.stdout.split("\n")[:-1]) == (0, printed), done.stderr
