"""This machine's own addresses: no proxy may stand before them.

A proxy that answers for 127.0.0.1 hides every server that runs here, ours and the person's. Knows no server.
"""

from __future__ import annotations

import ipaddress
import urllib.request
from collections.abc import Mapping
from urllib.parse import urlsplit

_NAMES = ("127.0.0.1", "localhost", "::1")


def is_here(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def no_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """NO_PROXY in both spellings: what the environment says, and this machine.

    Prefect's client (httpx), MLflow's (requests) and urllib all heed it.
    """
    said = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    names = [name.strip() for name in said.split(",") if name.strip()]
    value = ",".join([*names, *(name for name in _NAMES if name not in names)])
    return {"NO_PROXY": value, "no_proxy": value}


def opener(url: str) -> urllib.request.OpenerDirector:
    """An opener for one address: straight to this machine, as the environment says to any other.

    `urlopen` would keep the first proxy that it meets for the whole process.
    """
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if is_here(url) else []))
