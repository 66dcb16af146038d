import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from nightgarden.errors import Refusal, UserError
from nightgarden.models import load, specs
from nightgarden.models.fetch import seal
from nightgarden.params import ModelSpec

ROOT = Path(__file__).parents[2]
SMOLLM2 = ModelSpec(folder=str(specs.EMBEDDED_LM), template="smollm2", dtype="float32")


def small_model(root: Path, *, tied: bool = True) -> Path:
    """A folder with a two-layer Llama of random weights."""
    config = LlamaConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        vocab_size=64,
        tie_word_embeddings=tied,
    )
    LlamaForCausalLM(config).save_pretrained(root / "small")
    seal(root / "small")
    return root / "small"


def spec(dtype: str) -> ModelSpec:
    return ModelSpec.model_validate({"folder": "small", "template": "smollm2", "dtype": dtype})


def test_the_embedded_model_loads_whole_tied_and_in_float32() -> None:
    model = load.load_model(SMOLLM2, ROOT)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert not model.training
    assert model.num_parameters() == 134_515_008


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_dtype_that_is_asked_for_is_the_dtype_that_comes(tmp_path: Path, dtype: str) -> None:
    small_model(tmp_path)
    model = load.load_model(spec(dtype), tmp_path)
    assert {str(p.dtype) for p in model.parameters()} == {f"torch.{dtype}"}


def test_one_parameter_in_another_dtype_is_refused_by_name(tmp_path: Path) -> None:
    small_model(tmp_path)
    model = load.load_model(spec("bfloat16"), tmp_path)
    model.model.norm.float()
    with pytest.raises(Refusal, match=r"bfloat16, float32; params.yaml asks for bfloat16"):
        load.require_dtype(model, "bfloat16")


def test_weights_that_are_not_in_the_folder_are_refused_instead_of_random(tmp_path: Path) -> None:
    folder = small_model(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(Refusal, match=r"missing keys: model\.layers\.2"):
        load.load_model(spec("float32"), tmp_path)


def test_without_that_guard_a_layer_would_be_random(tmp_path: Path) -> None:
    folder = small_model(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    names = ("model.layers.2.mlp.up_proj.weight",)
    first, second = (dict(LlamaForCausalLM.from_pretrained(folder).named_parameters())[names[0]] for _ in range(2))
    assert not torch.equal(first, second)


def test_a_head_that_came_loose_from_its_embedding_is_refused(tmp_path: Path) -> None:
    small_model(tmp_path)
    model = load.load_model(spec("float32"), tmp_path)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    with pytest.raises(Refusal, match="two tensors"):
        load.require_tied(model)


def test_a_model_without_tied_weights_passes(tmp_path: Path) -> None:
    small_model(tmp_path, tied=False)
    assert load.load_model(spec("float32"), tmp_path).lm_head.weight.shape == (64, 16)


def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Run `nightgarden fetch small`"):
        load.load_model(spec("float32"), tmp_path)


def test_a_folder_without_its_last_file_is_not_taken_for_whole(tmp_path: Path) -> None:
    folder = small_model(tmp_path)
    (folder / "digests.json").unlink()
    with pytest.raises(UserError, match="no whole model"):
        load.load_model(spec("float32"), tmp_path)


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    folder = small_model(tmp_path)
    weights = LlamaForCausalLM.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    seal(folder)
    with pytest.raises(UserError, match="pickled weights are not read"):
        load.load_model(spec("float32"), tmp_path)


def test_the_tokenizer_cuts_digits_as_the_gguf_says() -> None:
    tokenizer = load.load_tokenizer(ROOT / specs.EMBEDDED_LM)
    assert tokenizer.convert_ids_to_tokens(tokenizer("\n\n10", add_special_tokens=False)["input_ids"]) == ["ĊĊ", "1", "0"]


def test_a_folder_without_tokenizer_says_so(tmp_path: Path) -> None:
    folder = small_model(tmp_path)
    with pytest.raises(UserError, match="no tokenizer.json"):
        load.load_tokenizer(folder)


def test_a_tekken_file_beside_the_tokenizer_changes_nothing(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja"):
        shutil.copy(ROOT / specs.EMBEDDED_LM / name, tmp_path / name)
    (tmp_path / "tekken.json").write_text("{}")
    tokenizer = load.load_tokenizer(tmp_path)
    assert tokenizer.is_fast
    assert tokenizer.convert_tokens_to_ids("<|im_end|>") == 2
