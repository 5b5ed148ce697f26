"""Clients that do harm: in a loop, by standing still, by dripping."""

import contextlib
import os
import socket
import threading
import time
from collections import Counter

from .target import read_answer

# Attackers stand for other machines; here they give way to who is measured.
NICENESS = 15
ANSWER_SECONDS = 60
REST_SECONDS = 0.2
PIECE = 1 << 16
# Who sends for a crowd, and for how long.
HELPERS = 20
CROWD_SECONDS, CROWD_SECONDS_LEAST = 4, 0.05


def give_way():
    # On Linux this is for the calling thread alone.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


class Loop:
    """So many clients that send a request, wait for its answer, and send the next; a context manager."""

    def __init__(self, target, request, clients):
        self.target, self.request = target, request
        self.statuses = Counter()
        self.stopping = threading.Event()
        self.started = threading.Semaphore(0)
        self.sockets = [None] * clients
        self.threads = [threading.Thread(target=self.attack, args=(number,), daemon=True) for number in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            self.started.acquire(timeout=ANSWER_SECONDS)
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for client in list(self.sockets):
            if client is not None:
                close(client)
        for thread in self.threads:
            thread.join()

    def attack(self, number):
        give_way()
        is_first = True
        while not self.stopping.is_set():
            try:
                with self.target.connect(ANSWER_SECONDS) as client:
                    self.sockets[number] = client
                    closed = False
                    while not closed and not self.stopping.is_set():
                        client.sendall(self.request)
                        if is_first:
                            self.started.release()
                            is_first = False
                        status, _, closed = read_answer(client, time.monotonic() + ANSWER_SECONDS)
                        if not self.stopping.is_set():
                            self.statuses[status] += 1
                        if status == 0:
                            break
            except OSError:
                self.statuses[0] += not self.stopping.is_set()
                if is_first:
                    self.started.release()
                    is_first = False
                self.stopping.wait(REST_SECONDS)
            finally:
                self.sockets[number] = None

    def shown(self):
        seen = ", ".join(f"{count} × {status or 'no answer'}" for status, count in sorted(self.statuses.items()))
        return f"; attackers: {seen or 'no answer yet'}"


def close(client):
    try:
        client.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Crowd:
    """Connections that are opened, sent something, and then kept as they are; a context manager.

    Whoever cannot send all of it within some seconds stays as it is, too.
    """

    def __init__(self, target, count, sent, receive_buffer=None):
        self.target, self.count, self.sent, self.receive_buffer = target, count, sent, receive_buffer
        self.clients = []
        # Those that could not connect, or were closed before all was sent.
        self.refused = 0

    def __enter__(self):
        self.left = iter(range(self.count))
        helpers = [threading.Thread(target=self.help, daemon=True) for _ in range(HELPERS)]
        for helper in helpers:
            helper.start()
        for helper in helpers:
            helper.join()
        return self

    def help(self):
        give_way()
        end = time.monotonic() + CROWD_SECONDS
        while next(self.left, None) is not None:
            left = max(CROWD_SECONDS_LEAST, end - time.monotonic())
            try:
                client = self.target.connect(left, self.receive_buffer)
            except OSError:
                self.refused += 1
                continue
            self.clients.append(client)
            with contextlib.suppress(TimeoutError):
                try:
                    client.sendall(self.sent)
                except ConnectionError:
                    self.refused += 1

    def __exit__(self, *_):
        for client in self.clients:
            client.close()


class Idle:
    """Connections on which nothing ever happens; a context manager. Nobody waits for them to be accepted."""

    def __init__(self, target, count):
        self.target, self.count = target, count
        self.clients = []

    def __enter__(self):
        for _ in range(self.count):
            client = socket.socket()
            client.setblocking(False)
            self.clients.append(client)
            client.connect_ex(("127.0.0.1", self.target.port))
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.close()


class Drip:
    """Connections that send a byte now and then; when they were closed is kept. A context manager."""

    def __init__(self, target, count, begin, byte=b" ", pause=0.25):
        self.target, self.count, self.begin, self.byte, self.pause = target, count, begin, byte, pause
        self.ended = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.drip, daemon=True)

    def __enter__(self):
        self.since = time.monotonic()
        self.clients = [self.target.connect() for _ in range(self.count)]
        for client in self.clients:
            client.sendall(self.begin)
            client.setblocking(False)
        self.thread.start()
        return self

    def drip(self):
        give_way()
        left = list(self.clients)
        while left and not self.stopping.wait(self.pause):
            for client in list(left):
                try:
                    client.send(self.byte)
                    received = client.recv(PIECE)
                except BlockingIOError:
                    continue
                except OSError:
                    received = b""
                # Whatever the server says, it is the end of the drip.
                self.ended.append(time.monotonic() - self.since)
                left.remove(client)
                client.close()

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        for client in self.clients:
            client.close()
