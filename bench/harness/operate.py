"""Operating one qlio under a steady load: reloads, certificates, upgrades, a killed server, an end behind nginx."""

import json
import time

from .operated import Server, Supervised, start_balancer, start_upstream, write_app
from .steady import WARM_UP_SECONDS, Load, certificate_at, phase

KILLED = "a server is killed"
QUIET_AGAIN = "quiet again"


def behind_nginx(processes, folder, binary, chosen, upstream):
    """Two servers behind nginx with kept-alive connections; one of them is told to end under load."""
    servers = []
    for name in ("one", "two"):
        write_app(folder / name, 0, upstream)
        server = Server(processes, name, folder / name, binary, arguments=["--drainDelay", "1000"])
        server.start()
        servers.append(server)
    port = start_balancer(processes, folder, [server.port for server in servers])
    with Load(port, chosen.rate, chosen.clients) as load:
        time.sleep(WARM_UP_SECONDS)
        return phase(load, "SIGTERM behind nginx", lambda: {"exit_code": servers[0].end()})


def operate(processes, folder, binary, chosen, say):
    """All phases; the document with what was seen."""
    upstream = start_upstream(processes, folder)
    served = Supervised(processes, folder, binary, chosen.workers, upstream, chosen.certificates, chosen.upgrades)
    phases = []

    def seen(load, name, act):
        phases.append(phase(load, name, act))
        say(json.dumps(phases[-1]))

    def reloads():
        for turn in range(chosen.reloads):
            served.reload(broken=turn % 2 == 1)
            time.sleep(chosen.pause / 1000)
        # A server that starts with a broken app would serve what loads of it.
        served.reload(broken=False)
        return {"reloads": chosen.reloads + 1}

    def certificates():
        for _ in range(chosen.certificates):
            served.reload_certificate(certificate_at)
            time.sleep(chosen.pause / 1000)
        return {"certificates": chosen.certificates}

    def upgrades():
        for turn in range(chosen.upgrades):
            served.upgrade(crashing=turn == 1)
            time.sleep(1)
        return {"upgrades": chosen.upgrades}

    with Load(served.port, chosen.rate, chosen.clients, served.tls_port) as load:
        time.sleep(WARM_UP_SECONDS)
        seen(load, "quiet", lambda: time.sleep(chosen.quiet))
        seen(load, "reloads, half of them broken", reloads)
        seen(load, "certificates", certificates)
        seen(load, "upgrades, one of them crashes", upgrades)
        seen(load, KILLED, served.kill_worker)
        # A machine that does other things is not as quiet at all times.
        seen(load, QUIET_AGAIN, lambda: time.sleep(chosen.quiet))
        catalogs = len({number for _, _, number in load.samples})
    code = served.end()
    phases.append(behind_nginx(processes, folder, binary, chosen, upstream))
    say(json.dumps(phases[-1]))
    return {"phases": phases, "catalogs_seen": catalogs, "exit_code": code}
