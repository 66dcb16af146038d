"""The chat that a setting names: the embedded model where it names none, else a server that somebody runs.

Knows where servers are; not what is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nightgarden.chat import Chat
from nightgarden.chat.embedded import Embedded
from nightgarden.chat.served import Served
from nightgarden.errors import UserError
from nightgarden.models import specs

if TYPE_CHECKING:
    from nightgarden.stage import Place

TIMEOUT_SECONDS = 120.0
"""For one answer of a server."""


@contextmanager
def open_chat(model: str | None, root: Path, place: Place, *, seed: int, setting: str) -> Iterator[Chat]:
    """A chat for the length of a `with` block.

    Args:
        model: name at the server; None = the embedded model, whose server starts and stops here.
        root: the checkout.
        place: tells the server's address and key.
        seed: of the sampling.
        setting: key in params.yaml that named the model, for the message.

    Raises:
        UserError: a model is named and no server is known.
    """
    if model is None:
        with Embedded(root / specs.EMBEDDED_LM, seed=seed) as chat:
            yield chat
    elif place.server_url is None:
        raise UserError(
            f"{setting} is {model!r} and OPENAI_BASE_URL is not set. Export it with the server's address; "
            "`make up` and `make demo` also take it from .env."
        )
    else:
        key = place.server_key or "none"
        yield Served(place.server_url, model, api_key=key, timeout_seconds=TIMEOUT_SECONDS, seed=seed)
