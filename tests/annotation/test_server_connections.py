"""Clients that open connections and send nothing, or send slowly: closed, so that others are served."""

import asyncio
import socket
import sys
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("uvicorn", reason="needs the annotation service: pip install 'transect[annotate]'")

from transect.annotation.server import listening
from transect.annotation.server.guard import Guard
from transect.annotation.server.listening import BoundedConnection

REQUEST = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
WITHIN = 0.4


class Impatient(BoundedConnection):
    headers_within = WITHIN
    most = 6


async def plain(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def listening_port(protocol, limit=512):
    """The port of the real server with the options that `serve` gives it, but for the protocol and the limit."""
    config = listening.config(Guard(plain, frozenset(), False, ()), "127.0.0.1", 0)
    config.http, config.limit_concurrency = protocol, limit
    ports = []
    server = listening.Server(config, ports.append)
    task = asyncio.create_task(server.serve())
    while not ports:
        await asyncio.sleep(0.01)
    try:
        yield ports[0]
    finally:
        server.should_exit = True
        await task


async def opened(port, *parts, pause=0.0):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await asyncio.sleep(pause)
    return reader, writer


async def reply(reader):
    return (await asyncio.wait_for(reader.readuntil(b"ok"), 5)).split(b"\r\n")[0]


async def ended(reader, seconds=5.0):
    """Whether the server closes the connection within so many seconds."""
    try:
        while await asyncio.wait_for(reader.read(100), seconds):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b"GET / HTTP/1.1\r\nhost: 127."],
        [REQUEST, b"GET / HT"],
        [b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n", b"a"],
    ],
    ids=["silent", "half a header", "half a second header", "a body that nobody reads"],
)
def test_a_connection_without_a_whole_request_is_closed(parts):
    async def work():
        async with listening_port(Impatient) as port:
            reader, writer = await opened(port, *parts, pause=0.1)
            assert await ended(reader)
            writer.close()

    asyncio.run(work())


def test_single_bytes_do_not_prolong_the_time():
    async def work():
        async with listening_port(Impatient) as port:
            reader, writer = await opened(port)
            closing = asyncio.create_task(ended(reader))
            for byte in REQUEST[:30]:
                writer.write(bytes([byte]))
                await asyncio.sleep(WITHIN / 10)
                if closing.done():
                    break
            assert await closing
            writer.close()

    asyncio.run(work())


def test_a_connection_that_asks_again_and_again_stays():
    async def work():
        async with listening_port(Impatient) as port:
            reader, writer = await opened(port)
            for _ in range(4):
                writer.write(REQUEST[:20])
                await asyncio.sleep(WITHIN / 2)
                writer.write(REQUEST[20:])
                assert await reply(reader) == b"HTTP/1.1 200 OK"
            await asyncio.sleep(2 * WITHIN)  # idle between requests: the time of kept connections counts
            writer.write(REQUEST)
            assert await reply(reader) == b"HTTP/1.1 200 OK"
            writer.close()

    asyncio.run(work())


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address")
def test_silent_connections_leave_room_for_another_address():
    """Twenty of one address are more than this server holds in all."""

    class Patient(BoundedConnection):
        most = 6

    async def work():
        async with listening_port(Patient, limit=10) as port:
            held = [await opened(port) for _ in range(20)]
            await asyncio.sleep(0.1)
            other = socket.socket()
            other.bind(("127.0.0.2", 0))
            other.setblocking(False)
            await asyncio.get_running_loop().sock_connect(other, ("127.0.0.1", port))
            reader, writer = await asyncio.open_connection(sock=other)
            writer.write(REQUEST)
            assert await reply(reader) == b"HTTP/1.1 200 OK"
            for _, one in (*held, (reader, writer)):
                one.close()

    asyncio.run(work())
