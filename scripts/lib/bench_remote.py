"""Rows of scripts/bench about containers at URLs: a server in a process of its own, with 25 ms to the first byte and
80 MB/s for each connection, as object stores have them."""
import concurrent.futures
import contextlib
import http.client
import http.server
import multiprocessing
import os
import random
import subprocess
import time

import numpy as np

from bench_kit import median, row

FIRST_BYTE = 0.025
RATE = 80e6
PIECE = 256 << 10


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/counts":
            body = f"{self.server.requests} {self.server.sent}".encode()
            return self.answer(200, len(body), {}, [body])
        path = os.path.join(self.server.folder, self.path.lstrip("/"))
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            start = int(first) if first else max(length - int(last), 0)
            end = min(int(last) + 1, length) if first else length
            self.server.requests += 1
            self.server.sent += end - start
            time.sleep(FIRST_BYTE)
            headers = {"Content-Range": f"bytes {start}-{end - 1}/{length}", "ETag": '"1"'}
            return self.answer(206, end - start, headers, self.paced(file, start, end))

    def paced(self, file, start, end):
        begun = time.perf_counter()
        for at in range(start, end, PIECE):
            yield os.pread(file.fileno(), min(PIECE, end - at), at)
            left = (at + PIECE - start) / RATE - (time.perf_counter() - begun)
            if left > 0.001 and at + PIECE < end:
                time.sleep(left)

    def answer(self, status, length, headers, pieces):
        self.send_response(status)
        self.send_header("Content-Length", length)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            self.connection.sendall(piece)


def serve(folder, pipe):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.folder, server.requests, server.sent = folder, 0, 0
    pipe.send(server.server_port)
    server.serve_forever()


class Store:
    def __init__(self, folder):
        here, there = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(folder, there), daemon=True)
        self.process.start()
        self.port = here.recv()

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def counts(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/counts")
        return np.array([int(n) for n in connection.getresponse().read().split()])

    def get(self, connection, name, start, end):
        connection.request("GET", "/" + name, headers={"Range": f"bytes={start}-{end - 1}"})
        return len(connection.getresponse().read())


@contextlib.contextmanager
def store(bench):
    serving = Store(bench.scratch)
    try:
        yield serving
    finally:
        serving.process.terminate()


def counted(serving, work):
    """Seconds, requests and MB of some work; the median of three times."""
    results = []
    for _ in range(3):
        before, begun = serving.counts(), time.perf_counter()
        work()
        seconds = time.perf_counter() - begun
        results.append((seconds, *(serving.counts() - before)))
    seconds, requests, sent = sorted(results)[1]
    return f"{seconds * 1000:.0f} ms, {requests} requests, {sent / 1e6:.1f} MB"


@row
def url_listings(bench):
    def make(path):
        rng = np.random.default_rng(5)
        with open(path, "wb") as file:
            np.savez(file, **{f"x{n:02}": rng.integers(0, 256, 4 << 20, "u1") for n in range(20)})
    npz, rab = os.path.basename(bench.made("members-20.npz", make)), os.path.basename(bench.big())
    program = os.path.join(os.path.dirname(bench.program), "rab")

    def run(*arguments):
        return lambda: subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
    with store(bench) as serving:
        yield "at a URL, 25 ms to the first byte: ls of a RAB file", counted(serving, run("ls", serving.url(rab)))
        yield "ls of 20 members, 80 MB, NPZ", counted(serving, run("ls", serving.url(npz)))
        yield "ls -l of them", counted(serving, run("ls", "-l", serving.url(npz)))
        yield "one element of one of them", counted(serving, run("get", serving.url(npz), "x10[1000000]"))


@row
def url_reads(bench):
    length = 256 << 20
    name = os.path.basename(bench.big())
    with store(bench) as serving:
        def plain():
            local = concurrent.futures.ThreadPoolExecutor(16)
            parts = range(0, length, 8 << 20)

            def part(start):
                return serving.get(http.client.HTTPConnection("127.0.0.1", serving.port), name, start, start + (8 << 20))
            assert sum(local.map(part, parts)) == length
        begun = time.perf_counter()
        plain()
        client = time.perf_counter() - begun
        with bench.mount(serving.url(name)) as path:
            file = os.path.join(path, "big")
            begun = time.perf_counter()
            subprocess.run(["dd", f"if={file}", "of=/dev/null", "bs=1M", f"count={length >> 20}"], check=True,
                           stderr=subprocess.DEVNULL)
            ours = time.perf_counter() - begun
        yield "dd bs=1M of 256 MiB, against a client with 16 connections", f"{client / ours:.2f}x its speed ({length / ours / 1e6:.0f} MB/s)"
        with bench.mount(serving.url(name)) as path:
            size, times = os.stat(os.path.join(path, "big")).st_size, []
            order = random.Random(1)
            with open(os.path.join(path, "big"), "rb", buffering=0) as file:
                for _ in range(200):
                    at = order.randrange(size // 4096) * 4096
                    begun = time.perf_counter()
                    os.pread(file.fileno(), 4096, at)
                    times.append(time.perf_counter() - begun)
        yield "4 KiB at random, 1 reader", f"{median(times) * 1000:.1f} ms each"
