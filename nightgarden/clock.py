"""Time as an argument: aware UTC moments and a clock that can be injected.

Nothing else in the library reads the machine's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

Clock = Callable[[], datetime]
"""Returns the present moment, aware, in UTC."""


def system_clock() -> datetime:
    """The machine's present moment in UTC."""
    return datetime.now(UTC)


def frozen(moment: datetime) -> Clock:
    """A clock that always shows `moment`; the demo's nights run on one."""
    if moment.tzinfo is None:
        raise ValueError(f"got the naive moment {moment}; a clock needs an offset, such as +00:00")
    return lambda: moment.astimezone(UTC)


def parse(text: str) -> datetime:
    """An ISO 8601 moment with an offset, as aware UTC.

    Raises:
        ValueError: not ISO 8601, or without an offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"got {text!r}, a time without an offset; write it like 2026-09-07T08:12:00+02:00")
    return moment.astimezone(UTC)


def iso(moment: datetime) -> str:
    """UTC ISO 8601 with seconds and a Z, the only form that our files hold; sorts as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local(moment: datetime, zone: str) -> datetime:
    """The same moment on the wall clock of an IANA zone."""
    return moment.astimezone(ZoneInfo(zone))
