"""Newline-delimited JSON over one Unix stream socket, as PROTOCOL.md describes it.

The socket arrives as file descriptor 0. `take_stdin` moves it to a descriptor of its own and leaves
`/dev/null` behind, so that code which reads standard input, or a process that it starts, cannot eat a
request. Standard output is never part of a conversation.
"""
import json
import os
import select
import socket
import threading

from . import within

REQUEST_BYTES = 8 << 20  # longest line that a process accepts
ANSWER_BYTES = 1 << 20  # longest line that a process writes
MESSAGE_CHARACTERS = 2000


class Failure(Exception):
    """An error of the protocol: it becomes the `error` of an answer."""

    def __init__(self, kind, message, file=None, line=None):
        super().__init__(message)
        self.kind, self.message, self.file, self.line = kind, message, file, line

    def encode(self):
        message = self.message
        if len(message) > MESSAGE_CHARACTERS:
            message = message[: MESSAGE_CHARACTERS - 2] + " …"
        answer = {"kind": self.kind, "message": message}
        if self.file is not None:
            answer["file"] = str(self.file)
        if self.line is not None:
            answer["line"] = self.line
        return answer


class Wire:
    """One connection. `descriptors` collects file descriptors that came with what was received."""

    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)
        self._rest = bytearray()
        self.descriptors = []

    @classmethod
    def take_stdin(cls):
        """The connection on descriptor 0, which reads as empty from then on."""
        fd = os.dup(0)  # not inherited by programs that are started
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        return cls(fd)

    def fileno(self):
        return self._socket.fileno()

    def receive(self):
        """The next message, or None when the other side has closed the connection."""
        while (end := self._rest.find(b"\n")) < 0:
            if len(self._rest) > REQUEST_BYTES:
                raise Failure("internal", f"a request is longer than {REQUEST_BYTES} bytes")
            data, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 16, 4)
            self.descriptors += descriptors
            if not data:
                return None
            self._rest += data
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return json.loads(line)

    def send(self, message):
        """Writes one message; not-a-number and infinity are no JSON and raise ValueError."""
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
        if len(line) > ANSWER_BYTES:
            raise ValueError(f"an answer of {len(line)} bytes is longer than {ANSWER_BYTES}")
        self._socket.sendall(line + b"\n")

    def close(self):
        self._socket.close()


def serve(wire, operations):
    """Answers requests, one at a time, until the connection ends.

    `operations` maps the name of an operation to a callable that takes the request and returns what
    goes under `ok`. A Failure becomes an error of its kind, any other exception an `internal` one.
    """
    while (request := wire.receive()) is not None:
        number = request.get("id")
        within.begin()
        try:
            operation = operations.get(request.get("op"))
            if operation is None:
                raise Failure("internal", f"no operation {request.get('op')!r}; known: {', '.join(operations)}")
            answer = {"id": number, "ok": operation(request)}
            if parts := within.take():
                answer["within"] = parts
        except Failure as failure:
            answer = {"id": number, "error": failure.encode()}
        except Exception as error:
            failure = Failure("internal", f"{type(error).__name__}: {error}")
            answer = {"id": number, "error": failure.encode()}
        try:
            wire.send(answer)
        except ValueError as error:
            wire.send({"id": number, "error": Failure("internal", str(error)).encode()})


def end_with_peer(wire, end=os._exit):
    """Ends this process as soon as the other side is gone, also in the middle of an operation.

    Not for a process that forks: the watch is a thread.
    """

    def watch():
        poll = select.poll()
        poll.register(wire.fileno(), select.POLLRDHUP)
        poll.poll()
        end(0)

    threading.Thread(target=watch, name="end-with-peer", daemon=True).start()
