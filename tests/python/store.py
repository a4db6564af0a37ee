"""A web server with faults: store.py PORT FILE. GET /x is FILE; of its requests some are refused with 503, some answers
are cut off; GET /changing has another entity tag each time, GET /untagged none, but another time of modification.
GET /count is the number of requests so far."""
import http.server
import sys
import threading

port, path = int(sys.argv[1]), sys.argv[2]
content = open(path, "rb").read()
lock, count = threading.Lock(), 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        global count
        with lock:
            if self.path != "/count":
                count += 1
            number = count
        if self.path == "/count":
            return self.answer(200, str(number).encode())
        if self.path == "/x" and number % 5 == 2:
            return self.answer(503, b"slow down")
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last), len(content) - 1)
        headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        if self.path == "/untagged":
            headers["Last-Modified"] = self.date_time_string(1_600_000_000 + number)
        else:
            headers["ETag"] = '"1"' if self.path == "/x" else f'"{number}"'
        part = content[first:last + 1]
        if self.path == "/x" and number % 5 == 4:
            self.answer(206, part[:len(part) // 2], headers, len(part))
            self.close_connection = True
            return None
        return self.answer(206, part, headers)

    def answer(self, status, body, headers={}, length=None):
        self.send_response(status)
        self.send_header("Content-Length", len(body) if length is None else length)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
