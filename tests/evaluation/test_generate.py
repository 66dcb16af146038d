import inspect
import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nightgarden.digests import source_digest
from nightgarden.errors import Refusal
from nightgarden.evaluation import generate
from nightgarden.evaluation.answers import SIDES, Side
from nightgarden.evaluation.generate import Generated, Request, Sides, Work, sides_fault
from nightgarden.models import adapters, load
from nightgarden.params import Evaluation, Params
from nightgarden.records import Turn
from nightgarden.templates import registry

CANDIDATE = Path("models/adapters/candidate")
QUESTIONS = (
    "Why is the sky blue?",
    "Say yes.",
    "My ferret is called Pickle. What is she called?",
    "Name one river in Spain, please.",
)


@pytest.fixture(scope="module")
def requests(base_model: Path) -> list[Request]:
    tokenizer = load.load_tokenizer(base_model)
    template = registry.get("smollm2")
    turns = [[Turn(role="system", content="Be brief."), Turn(role="user", content=text)] for text in QUESTIONS]
    return [Request(prompt_ids=tuple(registry.encode_prompt(template, tokenizer, item)), seed=0) for item in turns]


@pytest.fixture(scope="module")
def sides(workshop: Path, params: Params, requests: list[Request]) -> Sides:
    return generate.load_sides(params.base_spec, workshop, workshop / CANDIDATE, requests[0].prompt_ids)


def work(tmp_path: Path, settings: Evaluation, **changes: Any) -> Work:
    settings = settings.model_copy(update={"max_new_tokens": 8} | changes)
    return Work(
        settings=settings,
        stop=2,
        base={"model.safetensors": "b"},
        dtype="float32",
        adapter="a",
        machine="cpu, 2 threads",
        code="c",
        cache=tmp_path / "generation",
    )


@pytest.fixture(scope="module")
def written(
    sides: Sides, requests: list[Request], params: Params, tmp_path_factory: pytest.TempPathFactory
) -> dict[Side, list[Generated]]:
    """What both sides wrote, all in one batch."""
    folder = tmp_path_factory.mktemp("written")
    return {side: generate.replies(sides, side, requests, work(folder, params.evaluation)) for side in SIDES}


def test_greedy_replies_are_those_of_transformers_generate(
    sides: Sides, requests: list[Request], params: Params, tmp_path: Path
) -> None:
    asked = requests[:2]
    done = generate.generate(sides.model, asked, work(tmp_path, params.evaluation, temperature=0, max_new_tokens=16), "test")
    for request, mine in zip(asked, done, strict=True):
        prompt = torch.tensor([request.prompt_ids])
        limits = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": 2, "pad_token_id": 2}
        theirs = sides.model.generate(input_ids=prompt, **limits)[0, prompt.shape[1] :].tolist()
        assert list(mine.ids) == [token for token in theirs if token != 2]
        assert mine.truncated == (2 not in theirs)


def test_a_sampled_reply_does_not_depend_on_what_shares_its_batch(
    sides: Sides, requests: list[Request], params: Params, tmp_path: Path, written: dict[Side, list[Generated]]
) -> None:
    alone = generate.generate(sides.model, requests[2:3], work(tmp_path, params.evaluation), "test")
    assert alone == written["adapted"][2:3]


def test_seeds_differ_and_repeat(sides: Sides, requests: list[Request], params: Params, tmp_path: Path) -> None:
    again = [Request(prompt_ids=requests[0].prompt_ids, seed=seed) for seed in (0, 1, 0)]
    first, second, third = generate.generate(sides.model, again, work(tmp_path, params.evaluation, temperature=1.5), "test")
    assert first == third != second


def test_the_nucleus_is_exact() -> None:
    settings = {"temperature": 1.0, "top_p": 0.75}
    logits = torch.log(torch.tensor([[0.05, 0.4, 0.15, 0.3, 0.1]])).repeat(400, 1)
    drawn = generate.choose(logits, list(range(400)), [0] * 400, Evaluation.model_construct(**settings))
    assert set(drawn) == {1, 3, 2}
    flat = torch.zeros(50, 4000)
    assert max(generate.choose(flat, list(range(50)), [0] * 50, Evaluation.model_construct(**settings))) > generate.CANDIDATES


def test_batches_are_cut_by_length_and_replies_come_back_in_the_order_asked() -> None:
    asked = [Request(prompt_ids=(1,) * length, seed=0) for length in (5, 2, 9, 2)]
    assert list(generate.batched(asked, 3)) == [[1, 3, 0], [2]]


def test_a_finished_batch_is_never_made_again_and_the_rest_is_bit_for_bit_the_same(
    sides: Sides, requests: list[Request], params: Params, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ones = work(tmp_path, params.evaluation, batch_size=1)
    whole = generate.replies(sides, "adapted", requests[:2], ones)
    cached = sorted(ones.cache.iterdir())
    assert len(cached) == 2
    cached[0].unlink()  # as after a kill: one batch is there, the other is not
    caplog.clear()
    assert generate.replies(sides, "adapted", requests[:2], ones) == whole
    assert caplog.text.count("from the cache") == 1


def test_a_cached_batch_answers_only_for_the_same_work(requests: list[Request], params: Params, tmp_path: Path) -> None:
    mine = work(tmp_path, params.evaluation)
    other_adapter = replace(mine, adapter="other")
    keys = [
        generate.batch_key("stock", requests, mine),
        generate.batch_key("adapted", requests, mine),
        generate.batch_key("adapted", requests, other_adapter),
        generate.batch_key("adapted", requests[:2], mine),
        generate.batch_key("adapted", [Request(prompt_ids=item.prompt_ids, seed=1) for item in requests], mine),
        generate.batch_key("adapted", requests, work(tmp_path, params.evaluation, temperature=0.8)),
        generate.batch_key("adapted", requests, replace(mine, dtype="bfloat16")),
        generate.batch_key("adapted", requests, replace(mine, machine="cpu, 1 threads")),
        generate.batch_key("adapted", requests, replace(mine, machine="cuda, 2 threads")),
        generate.batch_key("adapted", requests, replace(mine, code="edited")),
    ]
    assert len(set(keys)) == len(keys)
    assert generate.batch_key("stock", requests, other_adapter) == keys[0], "stock's replies do not depend on the adapter"
    assert generate.batch_key("adapted", requests, work(tmp_path, params.evaluation)) == keys[1]


def test_an_edit_of_any_file_that_makes_the_replies_has_another_code_digest(repository: Path, tmp_path: Path) -> None:
    before = source_digest(generate.CODE)
    for file in generate.CODE:
        package = shutil.copytree(repository / "nightgarden", tmp_path / file.replace("/", "-"))
        assert source_digest(generate.CODE, package) == before, "two checkouts of the same code agree"
        (package / "evaluation/report.py").write_text("")  # scores no reply and makes none
        assert source_digest(generate.CODE, package) == before
        with (package / file).open("a") as source:
            source.write("# edited\n")
        assert source_digest(generate.CODE, package) != before, file


def test_every_module_that_generation_imports_of_its_room_and_of_models_is_in_the_digest(repository: Path) -> None:
    names = re.findall(r"^from nightgarden\.((?:evaluation|models)[.\w]*) import (\w+)", inspect.getsource(generate), re.M)
    paths = {f"{place.replace('.', '/')}.py" if "." in place else f"{place}/{name}.py" for place, name in names}
    assert paths - {"evaluation/answers.py"} <= set(generate.CODE), "answers.py holds types only"


def test_the_machine_of_a_reply_is_its_device_and_its_number_of_threads(sides: Sides) -> None:
    num_threads = torch.get_num_threads()
    assert load.machine_of(sides.model) == f"cpu, {num_threads} threads"
    torch.set_num_threads(num_threads + 1)
    try:
        assert load.machine_of(sides.model) == f"cpu, {num_threads + 1} threads"
    finally:
        torch.set_num_threads(num_threads)


def test_both_sides_write_and_they_differ(written: dict[Side, list[Generated]]) -> None:
    assert written["stock"] != written["adapted"]
    assert all(reply.ids for replies in written.values() for reply in replies)


class TestTheSidesAreTwo:
    """The guard three times: an unloaded adapter, one that was not taken off, and a clean pair."""

    def test_a_clean_pair_passes(self, sides: Sides) -> None:
        sides.require_two()

    def test_an_adapter_that_changes_nothing_is_refused(self, sides: Sides) -> None:
        with pytest.raises(Refusal, match="it was not loaded, or not trained"):
            Sides(_Idle(sides.model), sides.pristine, sides.probe).require_two()

    def test_without_the_guard_an_idle_adapter_gives_two_equal_columns(
        self, sides: Sides, requests: list[Request], params: Params, tmp_path: Path, written: dict[Side, list[Generated]]
    ) -> None:
        idle = Sides(_Idle(sides.model), sides.pristine, sides.probe)
        assert generate.replies(idle, "adapted", requests, work(tmp_path, params.evaluation)) == written["stock"]

    @pytest.fixture(scope="class")
    def soaked(self, workshop: Path, params: Params, sides: Sides) -> Sides:
        """The adapter on a base into which it was merged before."""
        merged = adapters.attach(load.load_model(params.base_spec, workshop), workshop / CANDIDATE).merge_and_unload()
        return Sides(adapters.attach(merged, workshop / CANDIDATE), sides.pristine, sides.probe)

    def test_a_base_that_still_holds_the_adapter_is_refused(self, soaked: Sides) -> None:
        with pytest.raises(Refusal, match="it was not taken off"):
            soaked.require_two()

    def test_without_the_guard_the_column_stock_holds_the_adapted_model(
        self, soaked: Sides, requests: list[Request], params: Params, tmp_path: Path, written: dict[Side, list[Generated]]
    ) -> None:
        assert generate.replies(soaked, "stock", requests, work(tmp_path, params.evaluation)) != written["stock"]

    def test_numbers_that_are_none_are_refused(self, sides: Sides) -> None:
        assert "not finite" in (sides_fault(sides.pristine, sides.pristine, sides.pristine * float("nan")) or "")


class _Idle:
    """A model whose adapter is on in name only."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.device = model.device

    def __call__(self, **inputs: Any) -> Any:
        with self.model.disable_adapter():
            return self.model(**inputs)

    def disable_adapter(self) -> Any:
        return self.model.disable_adapter()


def test_a_reply_that_goes_on_from_its_own_first_tokens_is_the_unbroken_one(
    sides: Sides, requests: list[Request], params: Params, tmp_path: Path, written: dict[Side, list[Generated]]
) -> None:
    begun = [replace(request, begun=reply.ids[:3]) for request, reply in zip(requests, written["adapted"], strict=True)]
    assert generate.generate(sides.model, begun, work(tmp_path, params.evaluation), "test") == written["adapted"]


def test_the_other_side_goes_on_from_given_tokens_and_the_reply_keeps_them(
    sides: Sides, requests: list[Request], params: Params, tmp_path: Path, written: dict[Side, list[Generated]]
) -> None:
    begun = [replace(request, begun=reply.ids[:3]) for request, reply in zip(requests, written["adapted"], strict=True)]
    crossed = generate.replies(sides, "stock", begun, work(tmp_path, params.evaluation))
    assert [reply.ids[:3] for reply in crossed] == [request.begun for request in begun]
    assert crossed != written["adapted"]


def test_a_reply_that_has_all_its_tokens_already_is_an_error(
    sides: Sides, requests: list[Request], params: Params, tmp_path: Path
) -> None:
    full = [replace(requests[0], begun=(5,) * 8)]
    with pytest.raises(ValueError, match="a reply may have 8 tokens"):
        generate.generate(sides.model, full, work(tmp_path, params.evaluation), "test")
