"""Streamable HTTP: bound to loopback unless told otherwise, and there never without a token."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from hippo_lit.errors import ConfigError
from hippo_lit.mcp_server.server import make_server
from hippo_lit.tool.toolbox import Toolbox

TOKEN = "HIPPO_LIT_MCP_TOKEN"  # noqa: S105 - the name of a variable
PATH = "/mcp"
MAX_BODY_BYTES, MAX_WRITE_BYTES = 256 * 1024, 8 * 1024 * 1024
_MAX_SESSIONS, _IDLE_S, _SHUTDOWN_S, _BACKLOG = 1_000, 600.0, 5, 128
_MIN_TOKEN_CHARS = 16

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Scope]]
_Send = Callable[[_Scope], Awaitable[None]]
App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


class BearerToken:
    """Lets requests through that carry `Authorization: Bearer <token>`; others get status 401."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http" and not self._allowed(scope["headers"]):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send)

    def _allowed(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        # In constant time: how long a wrong token takes must not tell how much of it is right.
        return len(given) == 1 and hmac.compare_digest(given[0], self._wanted)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_binding(host: str, token: str | None) -> None:
    """Raises ConfigError for an address that other machines reach without a token, or with a weak one."""
    if not token and not is_loopback(host):
        raise ConfigError(
            f"other machines can reach {host}: set {TOKEN} to a long random token, which clients send as"
            " 'Authorization: Bearer …', or bind 127.0.0.1",
            key="host",
        )
    if token and (len(token) < _MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable()):
        raise ConfigError(f"{TOKEN} must be at least {_MIN_TOKEN_CHARS} ASCII characters", key=TOKEN)


def make_app(toolbox: Toolbox, *, port: int, hosts: Iterable[str] = (), token: str | None = None) -> App:
    """The ASGI app. Requests must name one of `hosts`, or this machine, as Host and, if at all, as Origin, so
    that no page in a browser reaches it under a name of its own (DNS rebinding).
    """
    server = make_server(toolbox)
    from mcp.server.transport_security import TransportSecuritySettings

    local = ("127.0.0.1", "localhost", "[::1]")
    names = [f"{host}:{port}" for host in local]
    for host in hosts:  # a proxy in front may have a port of its own, or none that is said
        names += [host] if host.rpartition("]")[2].count(":") else [host, f"{host}:{port}"]
    writes = any(tool.writes for tool in toolbox.definitions)
    app: App = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_WRITE_BYTES if writes else MAX_BODY_BYTES,
        session_idle_timeout=_IDLE_S,
        max_sessions=_MAX_SESSIONS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=names,
            allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names],
        ),
    )
    return BearerToken(app, token) if token else app


def serve_http(
    toolbox: Toolbox,
    *,
    host: str,
    port: int,
    hosts: Iterable[str] = (),
    token: str | None = None,
    listening: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; `listening` gets the address once clients can connect. Port 0 takes a
    free one. Raises ConfigError (see `check_binding`; also where the address cannot be bound).
    """
    check_binding(host, token)
    bare = host.strip("[]")
    bound = _bind(bare, port)
    try:
        import uvicorn

        port = bound.getsockname()[1]
        everywhere = bare in ("0.0.0.0", "::")  # noqa: S104 - asked about, not bound
        shown = f"[{bare}]" if ":" in bare else bare
        own = [] if everywhere else [f"{shown}:{port}" if is_loopback(bare) else shown]
        app = make_app(toolbox, port=port, hosts=[*own, *hosts], token=token)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=_SHUTDOWN_S, ws="none"
        )
        listening(f"http://{shown}:{port}{PATH}")
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        bound.close()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)  # who connects before the server runs waits, and is not refused
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --port or --host",
            key="port",
        ) from error
    return bound
