"""What a run needs on the machine, and how to get it.

nginx and wrk are required; everything else is needed by one contender only, which is left out
with a notice when it cannot be had.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

NGINX_MODULES = Path("/usr/lib/nginx/modules")
LUA_MODULES = ("ndk_http_module.so", "ngx_http_lua_module.so")
# The oldest Node that undici still supports.
NODE_MAJOR = 20
NODE_SERVICE = Path(__file__).resolve().parent.parent / "node"
HIVE_GATEWAY = Path(__file__).resolve().parent.parent / "hive"


class MissingTool(Exception):
    """Something that the run cannot do without."""


def lua_cpath():
    """The folder that holds cjson for Lua 5.1, or None."""
    found = sorted(Path("/usr/lib").glob("*/lua/5.1/cjson.so"))
    return found[0].parent if found else None


def has_lua():
    return lua_cpath() is not None and all((NGINX_MODULES / module).exists() for module in LUA_MODULES)


def has_program(name):
    return lambda: shutil.which(name, path=search_path()) is not None


def search_path():
    # nginx lives in sbin, which ordinary users often do not search.
    return os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"


def program(name):
    found = shutil.which(name, path=search_path())
    if found is None:
        raise MissingTool(f"{name} is not installed")
    return found


def version(command):
    """What a program prints about its version; nginx and wrk print it as if it were an error."""
    command = [program(command[0]), *command[1:]]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=10)
    return done.stdout.strip().split("\n", 1)[0]


# What to look for, the Debian packages that bring it.
SYSTEM_TOOLS = {
    "nginx": (has_program("nginx"), ["nginx"]),
    "wrk": (has_program("wrk"), ["wrk"]),
    "lua": (has_lua, ["nginx", "libnginx-mod-http-lua", "lua-cjson"]),
    "node": (has_program("node"), ["nodejs"]),
    "npm": (has_program("npm"), ["npm"]),
    "openssl": (has_program("openssl"), ["openssl"]),
    "redis-server": (has_program("redis-server"), ["redis-server"]),
}


def install(names):
    """Install what is missing with apt-get when we may; return the names that are still missing."""
    missing = [name for name in names if not SYSTEM_TOOLS[name][0]()]
    packages = sorted({package for name in missing for package in SYSTEM_TOOLS[name][1]})
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {' '.join(packages)}", file=sys.stderr)
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
            subprocess.run(["apt-get", *command], check=False, stdout=sys.stderr, env=env)
    return [name for name in missing if not SYSTEM_TOOLS[name][0]()]


def advice(name):
    return f"{name} is missing; install it with: apt-get install {' '.join(SYSTEM_TOOLS[name][1])}"


def require(names):
    """Make sure of tools that the run cannot do without."""
    missing = install(names)
    if missing:
        raise MissingTool("\n".join(advice(name) for name in missing))


def lua_obstacle():
    """Why nginx with Lua cannot take part, or None."""
    return advice("lua") if install(["lua"]) else None


def node_obstacle(folder=NODE_SERVICE):
    """Why a program of this folder cannot take part, or None; installs its packages on demand."""
    missing = install(["node", "npm"])
    if missing:
        return "; ".join(advice(name) for name in missing)
    found = version(["node", "--version"])
    if int(found.removeprefix("v").partition(".")[0]) < NODE_MAJOR:
        return f"node {found} is too old; version {NODE_MAJOR} or newer is needed"
    installed, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return None
    print(f"installing the packages of bench/{folder.name}", file=sys.stderr)
    command = [program("npm"), "ci", "--no-fund", "--no-audit", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, check=False, stdout=sys.stderr)
    return None if done.returncode == 0 else f"npm ci in bench/{folder.name} failed (network?)"


def hive_obstacle():
    """Why the GraphQL gateway cannot take part, or None."""
    return node_obstacle(HIVE_GATEWAY)


def package_version(folder, name):
    """The version of an installed npm package."""
    return json.loads((folder / "node_modules" / name / "package.json").read_text())["version"]


def cargo(root, *arguments):
    """Run cargo; return what it printed on stdout, or None if it failed."""
    if shutil.which("cargo") is None:
        raise MissingTool("cargo is missing; install Rust, or name a built binary with --qlio")
    command = ["cargo", *arguments, "--locked", "--quiet"]
    done = subprocess.run(command, cwd=root, check=False, stdout=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else None


def build_folder(root):
    return root / os.environ.get("CARGO_TARGET_DIR", "target") / "release"


def build_qlio(root, by_profile):
    """Build qlio, by a profile of itself as it is shipped or plainly, and return its path."""
    print(f"building qlio ({'by a profile of itself' if by_profile else 'release'})", file=sys.stderr)
    if by_profile:
        command = ["scripts/with-toolchain", "--needs", "llvm-tools", "scripts/build-profiled"]
        done = subprocess.run(command, cwd=root, check=False, stdout=subprocess.PIPE, text=True)
        folder = Path(done.stdout.strip()) if done.returncode == 0 else None
    else:
        built = cargo(root, "build", "--release", "-p", "qlio-gateway", "--bin", "qlio")
        folder = None if built is None else build_folder(root)
    if folder is None:
        raise MissingTool("qlio does not build")
    return folder / "qlio"


def build_bare(root):
    """Build the program that makes the exchanges of scenario D and nothing else; None if it fails."""
    print("building the example bare_exchanges (release)", file=sys.stderr)
    if cargo(root, "build", "--release", "-p", "qlio-gateway", "--example", "bare_exchanges") is None:
        return None
    return build_folder(root) / "examples" / "bare_exchanges"


def build_compile_bench(root):
    """Build the benchmark of the compiler; return its executable, or None if it fails."""
    print("building the benchmark of the compiler (release)", file=sys.stderr)
    arguments = ["bench", "-p", "qlio-plan", "--bench", "compile", "--no-run", "--message-format=json"]
    messages = cargo(root, *arguments)
    for line in (messages or "").splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["target"]["name"] == "compile":
            return Path(message["executable"])
    return None
