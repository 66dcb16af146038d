"""The child process of `embedded.py`: serves one GGUF on 127.0.0.1 until its standard input closes.

`python -m nightgarden.chat.server GGUF TEMPLATE CONTEXT` writes its address as one line and then waits. The
parent holds the other end of the input, so a parent that is killed takes the server with it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(gguf: str, template: str, context: str) -> None:
    """Serve until standard input ends.

    Args:
        gguf: path of the weights.
        template: path of a Jinja chat template, for clients that send turns instead of token ids.
        context: tokens of prompt and answer together.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = int(context)
    params.n_parallel = 1
    # Half the cores: llama.cpp's threads spin at each barrier. With one other process busy, two threads on two cores
    # wrote 1.6 tokens a second and one thread 15.8.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.use_jinja = True
    params.chat_template = Path(template).read_text(encoding="utf-8")
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
