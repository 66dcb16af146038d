"""Curation against its rivals, side by side in one run: `python -m benchmarks.curation [--quick]`.

Every contender reads the same ShareGPT rows in a process of its own, one thread, three times in turn; the best
CPU time counts. `make peers` installs data-juicer; without it the benchmark is an error. The last line is one
JSON object: `vs_*` = our speed / theirs, `cost_vs_bare_loop` = our time / that of a loop that only parses, folds,
names, scans once and writes. Ours is to annotate and decide the rows that ingest took; `from_raw_*` counts what
ingest does to them too: strict JSON, shapes, ids, masked secrets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import made_rows
from nightgarden.rule_params import RULES

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".peers/bin/python"
RUNS = 3
MILLION = 1_000_000
CONTENDERS = {
    "bare loop": [sys.executable, "-m", "benchmarks.contenders", "bare"],
    "ours: annotate and decide": [sys.executable, "-m", "benchmarks.contenders", "ours"],
    "ours: from the raw rows": [sys.executable, "-m", "benchmarks.contenders", "ours_from_raw"],
    "ours: the twelve stages": [sys.executable, "-m", "benchmarks.contenders", "stages"],
    "ours: the duplicate pass": [sys.executable, "-m", "benchmarks.contenders", "duplicate"],
    "datasets.map, the rules in re": [sys.executable, "-m", "benchmarks.contenders", "datasets_map"],
    "data-juicer, comparable operators": [str(PEERS), str(ROOT / "benchmarks/peer_data_juicer.py")],
}
AGREE = tuple(rule for rule in RULES if rule not in {"schema", "length", "duplicate", "contamination"})
"""Rules that search for patterns: their counts must be equal, or the comparison is void."""
ALONE = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}


def measured(name: str, path: Path) -> dict[str, Any]:
    """What one contender says of itself: `cpu_s`, `peak_mb`, and rows per rule where it counts them."""
    done = subprocess.run([*CONTENDERS[name], str(path)], cwd=ROOT, env=ALONE, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} failed ({done.returncode}): {done.stderr.strip()[-600:]}")
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def compared(path: Path, runs: int) -> dict[str, dict[str, Any]]:
    """The best run of every contender; their turns alternate, so that a busy machine meets all of them."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(runs):
        for name in CONTENDERS:
            told = measured(name, path)
            if name not in best or told["cpu_s"] < best[name]["cpu_s"]:
                best[name] = told
    return best


def peaks(folder: Path) -> dict[str, int | None]:
    """Peak memory in MB on a million rows: of the per-row rules in one process, and of the duplicate pass."""
    path = folder / "million.jsonl"
    made_rows.write(path, MILLION)
    named = {"peak_mb_1m": "ours: annotate and decide", "peak_mb_1m_duplicate": "ours: the duplicate pass"}
    return {key: measured(name, path)["peak_mb"] for key, name in named.items()}


def disagreement(best: dict[str, dict[str, Any]]) -> str | None:
    """Why the comparison is void, or None."""
    ours, theirs = (best[name]["rules"] for name in ("ours: annotate and decide", "datasets.map, the rules in re"))
    wrong = [f"{rule}: {ours[rule]} and {theirs[rule]}" for rule in AGREE if ours[rule] != theirs[rule]]
    return f"ours and datasets.map count differently: {', '.join(wrong)}" if wrong else None


def main() -> int:
    """Make rows, run, print."""
    given = argparse.ArgumentParser()
    given.add_argument("--quick", action="store_true", help="5,000 rows, once; no memory of a million")
    given.add_argument("--rows", type=int, default=None)
    options = given.parse_args()
    if not PEERS.is_file():
        print("data-juicer is not here: run `make peers` first.", file=sys.stderr)
        return 2
    rows = options.rows or (5_000 if options.quick else 50_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        made_rows.write(path, rows)
        size = path.stat().st_size / 1e6
        best = compared(path, 1 if options.quick else RUNS)
        print(f"{rows} rows, {size:.0f} MB; load {os.getloadavg()[0]:.1f}\n")
        print(f"{'contender':36} {'CPU s':>8} {'rows/CPU s':>11} {'MB/CPU s':>9} {'peak MB':>8}")
        for name, told in best.items():
            cpu = told["cpu_s"]
            print(f"{name:36} {cpu:8.2f} {rows / cpu:11,.0f} {size / cpu:9.1f} {told['peak_mb']:8.0f}", flush=True)
        if why := disagreement(best):
            print(why, file=sys.stderr)
            return 1
        memory = {"peak_mb_1m": None, "peak_mb_1m_duplicate": None} if options.quick else peaks(Path(folder))
    seconds = {name: told["cpu_s"] for name, told in best.items()}
    numbers = ratios(seconds, "ours: annotate and decide") | {
        f"from_raw_{name}": ratio for name, ratio in ratios(seconds, "ours: from the raw rows").items()
    }
    print(json.dumps(numbers | {"rows": rows} | memory))
    return 0


def ratios(seconds: dict[str, float], ours: str) -> dict[str, float]:
    """CPU times against those of one contender of ours."""
    return {
        "vs_datasets_map": round(seconds["datasets.map, the rules in re"] / seconds[ours], 2),
        "vs_data_juicer": round(seconds["data-juicer, comparable operators"] / seconds[ours], 2),
        "cost_vs_bare_loop": round(seconds[ours] / seconds["bare loop"], 2),
    }


if __name__ == "__main__":
    sys.exit(main())
