"""The whole stage on a dozen real rows and the embedded model: once through, again, and killed at a step."""

import ast
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from nightgarden import digests, jsonl
from nightgarden.clock import system_clock
from nightgarden.errors import Refusal, UserError
from nightgarden.models import adapters
from nightgarden.models.load import load_model
from nightgarden.stage import Place
from nightgarden.training import loop
from nightgarden.training.loop import train
from tests.training.rows import ROOT, clean_rows, lay_out, settings

TRAINING = {"batch_size": 2, "micro_batch": 2, "checkpoint_steps": 1, "warmup": 0.0, "learning_rate": 1e-3}
OUTPUTS = ("models/adapters/candidate", "reports")
CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from nightgarden.clock import system_clock
from nightgarden.stage import Place
from nightgarden.training.loop import train
from tests.training.rows import settings
root = Path(sys.argv[1])
print(train(settings(**TRAINING), root, Place(root=root, state=root / "state", tracking_uri="", clock=system_clock)))
"""


def place(root: Path) -> Place:
    return Place(root=root, state=root / "state", tracking_uri="", clock=system_clock)


def outputs(root: Path) -> dict[str, str]:
    return {f"{part}/{name}": digest for part in OUTPUTS for name, digest in digests.sha256_folder(root / part).items()}


def dataset(root: Path) -> Path:
    """Eight rows to train on, four held out."""
    rows = clean_rows(3)
    return lay_out(root, [row for at, row in enumerate(rows) if at % 3 != 2], rows[2::3])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A checkout in which the stage ran once, and what it returned."""
    root = dataset(tmp_path_factory.mktemp("trained"))
    return root, train(settings(**TRAINING), root, place(root))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in another process, killed after its second checkpoint."""
    root = dataset(tmp_path_factory.mktemp("killed"))
    child = start(root, hash_seed="1")
    while not list(root.glob("state/checkpoints/*/checkpoint-2/whole.json")):
        assert child.poll() is None, child.communicate()
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    return root


def start(root: Path, hash_seed: str) -> subprocess.Popen:
    """The stage in a process of its own; another hash seed gives sets another order."""
    code = CHILD.replace("TRAINING", repr(TRAINING))
    env = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root), str(ROOT)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_held_out_loss_falls_and_the_reports_say_so(trained) -> None:
    root, report = trained
    written = json.loads((root / "reports/training.json").read_text())
    curve = json.loads((root / "reports/training_loss.json").read_text())
    assert [point["step"] for point in curve] == [1, 2, 3, 4]
    assert written["loss_first"] == curve[0]["loss"] == report["loss_first"]
    assert all(loss["after"] < loss["before"] for loss in written["held_out"].values())
    assert sorted(written["held_out"]) == ["op0", "op1", "op2", "op3"]
    assert report["verdict"] == "held-out loss is lower on every op"
    assert (report["rows"], report["steps"], report["time_resumed_from"]) == (8, 4, 0)
    assert any("⟦" in line for line in written["preflight"]["train"]["shown"])


def test_the_verdict_names_an_op_that_did_not_gain_and_one_without_held_out_rows() -> None:
    losses = loop.Losses(curve=[], before={0: 3.0, 1: 3.0, 2: 3.0}, after={0: 2.0, 1: 3.0, 2: float("nan")})
    assert losses.verdict == (
        "held-out loss is not lower on op 1 (identity stripping); held-out loss is not lower on op 2 (context supremacy); "
        "held-out loss was not measured on op 3 (memory channels)"
    )


def test_outputs_hold_no_time_and_no_path(trained) -> None:
    root, _ = trained
    for path in (*root.glob("models/adapters/candidate/*.json"), *root.glob("reports/*.json")):
        assert str(root) not in path.read_text() and "time_" not in path.read_text()
    config = json.loads((root / "models/adapters/candidate/adapter_config.json").read_text())
    assert config["target_modules"] == sorted(config["target_modules"]) and len(config["target_modules"]) == 7
    assert config["base_model_name_or_path"] == "smollm2-135m" and not config["use_rslora"] and not config["use_dora"]


def test_the_card_says_what_the_adapter_was_made_from(trained) -> None:
    root, _ = trained
    known = json.loads((root / "models/adapters/candidate/card.json").read_text())
    assert known["dataset"] == json.loads((root / "data/dataset/gate.json").read_text())["digest"]
    assert known["base"]["weights"] == {"model.safetensors": known["base"]["weights"]["model.safetensors"]}
    assert known["training"]["learning_rate"] == 1e-3
    assert known["template"]["golden_ids"] and known["libraries"]["torch"]
    assert known["adapter"] == adapters.weights_digest(root / "models/adapters/candidate")


def test_checkpoints_go_when_the_outputs_are_written(trained) -> None:
    assert not list(trained[0].glob("state/checkpoints/*/*"))


def test_equal_inputs_give_equal_bytes(trained, tmp_path: Path) -> None:
    again = dataset(tmp_path)
    train(settings(**TRAINING), again, place(again))
    assert outputs(again) == outputs(trained[0])


def test_a_killed_run_whose_training_code_was_edited_starts_anew_and_says_why(tmp_path: Path, monkeypatch, caplog) -> None:
    caplog.set_level(logging.INFO)
    root, used = dataset(tmp_path), []

    def fit_and_be_killed(*given: Any) -> None:
        used.append(given[4])
        (given[4] / "checkpoint-2").mkdir(exist_ok=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_fit", fit_and_be_killed)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train(settings(**TRAINING), root, place(root))
    assert used[0] == used[1] and "starts at step 0" not in caplog.text, "the same code goes on where it was"
    monkeypatch.setattr(loop.digests, "source_digest", lambda parts: "edited")
    with pytest.raises(KeyboardInterrupt):
        train(settings(**TRAINING), root, place(root))
    assert used[2] != used[0]
    assert f"starts at step 0: the checkpoints in {used[0]} are of a training that differs in code;" in caplog.text


def test_a_run_killed_at_a_step_resumes_there_and_ends_bit_for_bit_as_if_it_had_not_been(trained, killed) -> None:
    assert not (killed / "models/adapters/candidate").exists() and not (killed / "reports").exists()
    child = start(killed, hash_seed="2")
    said, log = child.communicate()
    assert child.returncode == 0, log
    assert ast.literal_eval(said.splitlines()[-1])["time_resumed_from"] >= 2
    assert outputs(killed) == outputs(trained[0])


def test_the_adapter_goes_on_its_base_and_off_again(trained, encoded_rows) -> None:
    root, _ = trained
    stock = load_model(settings().base_spec, root)
    ids = torch.tensor([encoded_rows[0].ids])
    with torch.no_grad():
        before = stock(ids).logits
        adapted = adapters.attach(stock, root / "models/adapters/candidate")
        assert not torch.equal(adapted(ids).logits, before)
        with adapted.disable_adapter():
            assert torch.equal(adapted(ids).logits, before)


@pytest.fixture
def candidate(trained, tmp_path: Path) -> Path:
    return shutil.copytree(trained[0] / "models/adapters/candidate", tmp_path / "candidate")


class Named:
    """What `attach` asks a base for before it touches it."""

    def __init__(self, folder: Path) -> None:
        self.name_or_path = str(folder)


def test_an_adapter_on_another_base_is_refused(candidate: Path, tmp_path: Path, base_model: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.safetensors").write_bytes(b"")
    jsonl.write_json(other / "digests.json", {"model.safetensors": "another"})
    with pytest.raises(Refusal, match="was trained on smollm2-135m"):
        adapters.attach(Named(other), candidate)


def test_an_adapter_whose_weights_are_not_its_cards_is_refused(candidate: Path, base_model: Path) -> None:
    with (candidate / adapters.WEIGHTS).open("ab") as file:
        file.write(b" ")
    with pytest.raises(Refusal, match="its card names"):
        adapters.attach(Named(base_model), candidate)


def test_an_adapter_without_its_card_is_not_whole(candidate: Path, base_model: Path) -> None:
    (candidate / "card.json").unlink()
    with pytest.raises(UserError, match=r"card\.json is missing"):
        adapters.attach(Named(base_model), candidate)


def test_a_dataset_that_changed_after_its_gate_is_refused(tmp_path: Path) -> None:
    folder = dataset(tmp_path) / "data/dataset"
    digest = loop.gated_digest(folder)
    assert digest == hashlib.sha256((folder / "train.jsonl").read_bytes() + (folder / "held_out.jsonl").read_bytes()).hexdigest()
    rows = list(jsonl.read(folder / "train.jsonl", dict))
    jsonl.write(folder / "train.jsonl", rows[1:])
    with pytest.raises(Refusal, match="changed after the gate"):
        loop.gated_digest(folder)


def test_a_dataset_whose_gate_did_not_pass_is_refused_with_its_reasons(tmp_path: Path) -> None:
    folder = dataset(tmp_path) / "data/dataset"
    jsonl.write_json(folder / "gate.json", {"passed": False, "digest": "", "reasons": ["op 2 has 70 % of the rows"]})
    with pytest.raises(Refusal, match="op 2 has 70 %"):
        loop.gated_digest(folder)


def test_an_unsound_row_stops_the_stage_before_anything_is_loaded_or_written(tmp_path: Path) -> None:
    rows = clean_rows(2)
    bad = msgspec.structs.replace(rows[0], turns=rows[0].turns[:-1])
    root = lay_out(tmp_path, [bad, *rows[1:]], rows)
    with pytest.raises(Refusal, match=bad.id):
        train(settings(**TRAINING), root, place(root))
    assert not (root / "models/adapters").exists() and not (root / "reports").exists() and not (root / "state").exists()


def test_a_disk_too_small_for_the_checkpoints_is_said_before_the_first_step(tmp_path: Path, toy, monkeypatch) -> None:
    loop.require_space(tmp_path, toy)
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(loop.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match="0 MB free"):
        loop.require_space(tmp_path, toy)
