"""A proxy for bytes in front of a server: it can cut every connection, refuse new ones, swallow everything, and speak TLS to the
client."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

_BLOCK = 65_536


class TcpProxy:
    """Listens on a free port of this machine and passes bytes on to the server of a url, both ways."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        self._target = (str(parts.hostname), int(parts.port or 0))
        self._tls = tls
        self._guard = threading.Lock()
        self._open: set[socket.socket] = set()
        self._left: int | None = None
        self._is_hushed = False
        self.sent = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"{parts.scheme}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, *, after: int = 0) -> None:
        """End every connection, and each new one, as soon as clients sent so many bytes more."""
        with self._guard:
            self._left = after
        if not after:
            self._end_all()

    def hush(self) -> None:
        """Accept connections and bytes, and pass nothing on: a server that never answers."""
        self._is_hushed = True

    def mend(self) -> None:
        """Pass everything on again; a connection that lacks some bytes is ended."""
        with self._guard:
            self._left = None
            was_hushed, self._is_hushed = self._is_hushed, False
        if was_hushed:
            self._end_all()

    def close(self) -> None:
        """End all, and listen no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # else a thread that accepts keeps the port open
        self._listener.close()
        self._end_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._is_cut():
                client.close()
                return
            if self._tls is not None:
                client = self._tls.wrap_socket(client, server_side=True)
            server = socket.create_connection(self._target)
            with self._guard:
                self._open |= {client, server}
            threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
            self._pump(client, server, is_counted=True)

    def _pump(self, source: socket.socket, target: socket.socket, *, is_counted: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BLOCK):
                if is_counted:
                    data = self._take(data)
                if self._is_hushed:
                    continue
                target.sendall(data)
                if self._is_cut():
                    self._end_all()
        for one in (source, target):
            self._end(one)

    def _take(self, data: bytes) -> bytes:
        with self._guard:
            if self._left is not None:
                data = data[: self._left]
                self._left -= len(data)
            self.sent += len(data)
            return data

    def _is_cut(self) -> bool:
        with self._guard:
            return self._left == 0

    def _end_all(self) -> None:
        with self._guard:
            found = list(self._open)
        for one in found:
            self._end(one)

    def _end(self, one: socket.socket) -> None:
        with self._guard:
            self._open.discard(one)
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextlib.contextmanager
def passed_on(url: str, *, tls: ssl.SSLContext | None = None) -> Iterator[TcpProxy]:
    """A proxy to the server of a url."""
    with contextlib.closing(TcpProxy(url, tls=tls)) as proxy:
        yield proxy
