"""Several servers behind nginx with Redis as their shared cache, under a steady load: restarted one after the other,
killed, given a new catalog by reload and by restart, and left alone by Redis."""

import json
import time

from .operated import OperateFailed, Server, start_balancer, start_upstream, upstream_requests, write_app
from .processes import free_port
from .steady import WARM_UP_SECONDS, Load, phase

# How long answers of the upstream are kept.
EXPIRES_SECONDS = 600


def check_catalogs(servers):
    """The one hash that all servers tell, both as readiness and as a metric."""
    told = {number for server in servers for number in server.hashes()}
    if len(told) != 1 or any(len(server.hashes()) != 2 for server in servers):
        raise OperateFailed(f"the servers tell different catalogs: {sorted(told)}")
    return told.pop()


def start_redis(processes, folder, port):
    """A Redis that keeps nothing on disk."""
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
    process = processes.start("redis", command)
    processes.wait_for_port("redis", process, port)
    return process


def instances(processes, folder, binary, chosen, say):
    """All phases; the document with what was seen."""
    upstream, redis_port = start_upstream(processes, folder), free_port()
    redis = start_redis(processes, folder, redis_port)
    settings = json.dumps({"cache": {"impl": "redis", "options": f"127.0.0.1:{redis_port}"}})
    servers = []
    for number in range(chosen.instances):
        name = f"instance-{number}"
        write_app(folder / name, 0, upstream, expires=EXPIRES_SECONDS)
        servers.append(Server(processes, name, folder / name, binary, settings, ["--drainDelay", "500"]))
        servers[-1].start()
    port = start_balancer(processes, folder, [server.port for server in servers])
    phases, hashes, shared = [], [check_catalogs(servers)], []

    def write(number):
        for server in servers:
            write_app(server.app, number, upstream, expires=EXPIRES_SECONDS)

    def restart():
        for server in servers:
            server.end()
            server.start()

    def kill():
        servers[1].kill()
        time.sleep(1)
        servers[1].start()

    def reload():
        write(1)
        for server in servers:
            server.reload()

    def replace():
        write(2)
        restart()

    def lose_cache():
        # Without a shared cache each server asks the upstream, once its own copies are old.
        shared.append(upstream_requests(folder))
        processes.stop(redis)
        time.sleep(3)
        start_redis(processes, folder, redis_port)

    with Load(port, chosen.rate, chosen.clients) as load:
        time.sleep(WARM_UP_SECONDS)

        def seen(name, act, catalog=None):
            def acted():
                act()
                done = time.monotonic()
                hashes.append(check_catalogs(servers))
                if catalog is None:
                    return {}
                time.sleep(1)
                late = {number for due, _, number in list(load.samples) if due > done}
                if late != {catalog}:
                    raise OperateFailed(f"after catalog {catalog} was everywhere, answers came from {sorted(late)}")
                return {"catalog": hashes[-1]}

            phases.append(phase(load, name, acted))
            say(json.dumps(phases[-1]))

        seen("quiet", lambda: time.sleep(chosen.quiet), 0)
        seen("all restarted, one after the other", restart)
        seen("one is killed, and started a second later", kill, 0)
        seen("a new catalog by reload, one after the other", reload, 1)
        seen("a new catalog by restart, one after the other", replace, 2)
        seen("Redis ends, and is back three seconds later", lose_cache, 2)
    codes = [server.end() for server in servers]
    time.sleep(1)
    return {
        "instances": chosen.instances,
        "phases": phases,
        "hashes": list(dict.fromkeys(hashes)),
        "upstream_requests": shared[0],
        "exit_code": max(codes),
    }
