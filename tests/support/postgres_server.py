"""A PostgreSQL server of one's own: a cluster in a temporary folder, on a socket, run by an unprivileged user."""

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest


def binaries() -> Path | None:
    """Where initdb and postgres are: on the path, or where Debian puts them."""
    if found := shutil.which("initdb"):
        return Path(os.path.realpath(found)).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def unprivileged():
    """A user who may run the server: PostgreSQL refuses root."""
    if os.getuid():
        return None
    names = {one.pw_name: one for one in pwd.getpwall()}
    return names.get("postgres") or names.get("nobody")


@contextmanager
def server(folder: Path):
    """The address of an empty database, as long as the block runs."""
    place = binaries()
    if place is None:
        pytest.skip("needs a PostgreSQL server: apt-get install postgresql")
    user = unprivileged()
    as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    cluster, socket = folder / "cluster", folder / "socket"
    for path in (folder, cluster, socket):
        path.mkdir(parents=True, exist_ok=True)
        if user is not None:
            os.chown(path, user.pw_uid, user.pw_gid)
    # LC_ALL: Debian's wrapper scripts look at no locale; a cluster in C needs none installed.
    environment = {"PATH": f"{place}:/usr/bin:/bin", "LC_ALL": "C", "HOME": str(folder)}
    command = [place / "initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=folder, **as_user)
    started = subprocess.Popen(
        [place / "postgres", "-D", cluster, "-k", socket, "-c", "listen_addresses=", "-c", "max_connections=120", "-c", "fsync=off"],
        env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user,
    )  # fmt: skip
    try:
        address = f"postgresql://postgres@/postgres?host={socket}"
        _wait(address)
        yield address
    finally:
        started.send_signal(signal.SIGINT)  # fast: waits for no client
        started.wait(timeout=30)


def _wait(address: str) -> None:
    import time

    import psycopg

    for _ in range(200):
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise AssertionError("the PostgreSQL server did not start")


def empty_database(address: str, name: str) -> str:
    """A new database beside the one of an address."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return address.replace("/postgres?", f"/{name}?")
