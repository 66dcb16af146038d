"""Memory and speed of reading one large `.json` array: `python -m benchmarks.stream_array [--gb 2]`.

Writes the array into a temporary folder, then streams it through reader and shapes in a process of its own.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = "the kettle stands on a cold stove while rain runs down the window and nobody has lit a lamp yet".split()
LIMIT_MB = 300
"""Peak memory that the issue allows."""


def write(path: Path, size: float) -> int:
    """An array of ShareGPT rows of about 2 kB each, pretty-printed as OpenHermes is; the number of rows."""
    chance, number = random.Random(2), 0
    with path.open("w") as file:
        file.write("[\n")
        while file.tell() < size:
            text = " ".join(chance.choices(WORDS, k=chance.randrange(100, 700)))
            turns = [{"from": "human", "value": f"Row {number}?", "weight": None}, {"from": "gpt", "value": text}]
            row = {"conversations": turns, "source": "made", "id": number}
            file.write((",\n" if number else "") + json.dumps(row, indent=2))
            number += 1
        file.write("\n]\n")
    return number


def stream(path: Path) -> None:
    """What the child does: every row to an example, none kept."""
    from nightgarden.curation.ingest import Source, take
    from nightgarden.curation.shards import spread
    from nightgarden.curation.sources.reading import read_rows

    taken = faults = 0
    started = time.perf_counter()
    for shard in spread(lambda rows: take(Source(path.name, "made", 0), rows), read_rows(path)):
        taken += sum(bool(row.key) for row in shard)
        faults += sum(not row.key for row in shard)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.perf_counter() - started
    print(json.dumps({"taken": taken, "quarantined": faults, "peak_mb": round(peak), "seconds": round(seconds, 1)}))


def main() -> int:
    """Write, stream, print; 1 if rows are missing or memory went over the limit."""
    given = argparse.ArgumentParser()
    given.add_argument("--gb", type=float, default=2.0)
    given.add_argument("--stream", type=Path)
    options = given.parse_args()
    if options.stream:
        stream(options.stream)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "array.json"
        rows = write(path, options.gb * 1e9)
        command = [sys.executable, "-m", "benchmarks.stream_array", "--stream", str(path)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        size = path.stat().st_size / 1e6
    told |= {"rows": rows, "mb": round(size), "mb_per_s": round(size / told["seconds"], 1)}
    print(f"{rows} rows, {size:.0f} MB: {told['mb_per_s']} MB/s, peak memory {told['peak_mb']} MB (limit {LIMIT_MB})")
    print(json.dumps(told))
    return int(told["taken"] != rows or told["peak_mb"] >= LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
