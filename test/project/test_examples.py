"""The examples run, and say what README promises."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.targets import Compile

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect import reference

EXAMPLES = ROOT / "examples"


def example(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pooling() -> ModuleType:
    """The main job."""
    return example("attention_pooling")


def test_attention_pooling(pooling: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert pooling.main(["exception"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^\d+ documents, \d+ words; words a document: min \d+, median \d+, max \d+$", out, re.MULTILINE)
    assert re.search(r"padding takes \d+\.\d times", out)
    assert re.search(r"compiled in \d+\.\d\d s: layouts -> checks -> ragged -> scf -> .* -> llvm$", out, re.MULTILINE)
    assert re.search(r"run in \d+\.\d\d ms, NumPy in \d+\.\d\d ms", out)
    documents = out.split("with their weights:\n")[1].splitlines()
    assert len(documents) == 3
    for line in documents:
        assert re.match(r"  [\w-]+ +exception 0\.\d\d(, \w+ 0\.\d\d)*$", line), line


def test_attention_pooling_fails_on_errors(
    pooling: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pooling, "TOLERANCE", 0.0)
    assert pooling.main([]) == 1
    assert "expected an error of at most 0.0, got " in capsys.readouterr().out


@pytest.mark.sampled(2)
def test_attention_pooling_against_the_reference(pooling: ModuleType, compile: Compile) -> None:
    """Also documents without words, which the example has none of."""
    rng = np.random.default_rng(3)
    offsets = np.array([0, 0, 3, 4, 4, 9])
    args = [rng.standard_normal((9, 64), np.float32), offsets, rng.standard_normal(64, np.float32)]
    pooled, weights = compile(pooling.PROGRAM)(*args)
    expected: list[Any] = reference.run(pooling.PROGRAM.read_text(), "attention_pooling", args)
    np.testing.assert_allclose(pooled, expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-4, atol=1e-6)
    assert not pooled[[0, 3]].any()


def test_features_are_the_same_everywhere(pooling: ModuleType) -> None:
    """Hashes of trigrams: words that share them are alike."""
    first = pooling.feature("exception")
    assert first.shape == (64,)
    np.testing.assert_allclose(np.linalg.norm(first), 1, rtol=1e-6)
    assert "".join("+" if x > 0 else "-" for x in first[:16]) == "++---+---+-+++--"
    assert first @ pooling.feature("exceptions") > 0.7 > 0.4 > first @ pooling.feature("loop")


def test_expert_reshuffle(capsys: pytest.CaptureFixture[str]) -> None:
    """The lengths of the document, and the tokens of a loop."""
    assert example("expert_reshuffle").main() == 0
    out = capsys.readouterr().out
    for text in (
        "[gpu, expert]    tokens [[30, 0, 40, 30], [25, 35, 25, 15]]",
        "[expert, gpu]    tokens [[30, 25], [0, 35], [40, 25], [30, 15]]",
        "[expert]         tokens [55, 35, 65, 45]",
        "[device, expert] tokens [[55, 35], [65, 45]]",
        "equal to the loop over experts and GPUs",
    ):
        assert text in out


def test_expert_reshuffle_fails_on_other_tokens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = example("expert_reshuffle")
    wrong = [tokens + 1 for tokens in module.expected_tokens(module.make_tokens())]
    monkeypatch.setattr(module, "expected_tokens", lambda _: wrong)
    assert module.main() == 1
    assert "expected the tokens of the loop, got others" in capsys.readouterr().out


def test_text_pooling(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Finds the module of the data beside it, as it does when it is run as a script."""
    monkeypatch.syspath_prepend(EXAMPLES)
    module = example("text_pooling")
    out = capsys.readouterr().out
    assert re.search(r"largest difference from NumPy: \d\.\de-0[5-8]$", out, re.MULTILINE)
    assert "vector of the empty document: {0.0}" in out
    assert "programs compiled: 1" in out
    assert len(re.findall(r"^  [\w-]+ +\w+ +0\.\d{3}$", out, re.MULTILINE)) == 3
    assert module.pooled.shape == (len(module.corpus.names), 64)


def test_point_clouds(capsys: pytest.CaptureFixture[str]) -> None:
    """Against a loop over scenes and objects."""
    module = example("point_clouds")
    assert "points kept per object: [1, 1, 1, 1, 0, 1, 1, 1, 1, 1]" in capsys.readouterr().out
    scenes = module.clouds.tolist()
    for scene, centroids, unit in zip(scenes, module.centroids.tolist(), module.unit.tolist(), strict=True):
        for cloud, centroid, normalised in zip(scene, centroids, unit, strict=True):
            if not cloud:
                assert np.isnan(centroid).all()
                continue
            points = np.array(cloud)
            np.testing.assert_allclose(centroid, points.mean(axis=0), rtol=1e-4)
            centred = points - points.mean(axis=0)
            expected = centred / np.linalg.norm(centred, axis=1).max()
            np.testing.assert_allclose(normalised, expected, rtol=1e-3, atol=1e-4)


def test_expert_parallel(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    module = example("expert_parallel")
    module.RANKS_OF_THREADS = 2
    assert module.main() == 0
    said = "2 ranks, experts [5, 3], 96 tokens: equal to one process, forward and backward"
    assert capsys.readouterr().out.splitlines() == [said]


def test_mixture_of_experts(capsys: pytest.CaptureFixture[str]) -> None:
    """Against a loop over experts, one token after the other; it compares with another loop itself."""
    module = example("mixture_of_experts")
    assert re.search(r"^largest difference from the loop: \d\.\de-0[67]$", capsys.readouterr().out, re.MULTILINE)
    router, *experts = (weight.astype(np.float64) for weight in module.weights)
    found = module.layer(module.tokens, *module.weights)
    for token, made in zip(module.tokens.astype(np.float64), found, strict=True):
        scores = token @ router
        chosen = np.argsort(-scores, kind="stable")[: module.CHOICES]
        shares = np.exp(scores[chosen]) / np.exp(scores[chosen]).sum()
        expected = np.zeros_like(token)
        for share, expert in zip(shares, chosen, strict=True):
            gate, up, down = (weight[expert] for weight in experts)
            gated = token @ gate
            expected += share * (gated / (1 + np.exp(-gated)) * (token @ up)) @ down
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["emulator", "ptx-emulator"])
def test_mixture_of_experts_on_a_gpu(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routing decisions stay on the device."""
    module = example("mixture_of_experts")
    for name, size in {"HIDDEN": 4, "EXPERTS": 3}.items():
        monkeypatch.setattr(module, name, size)
    rng = np.random.default_rng(0)
    shapes = [(20, 4), (4, 3), (3, 4, 6), (3, 4, 6), (3, 6, 4)]
    arguments = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    layer = rg.jit(module.layer)
    on_device = rg.compile(layer.lower(*arguments).source, target=target, sync="forbid")
    np.testing.assert_allclose(on_device(*arguments), layer(*arguments), rtol=1e-5, atol=1e-5)


def test_padded(capsys: pytest.CaptureFixture[str]) -> None:
    """It compares its results itself."""
    module = example("padded")
    out = capsys.readouterr().out
    assert "refused: to_padded: level 1, component " in out
    assert re.search(r"^ragged \d\.\d\d MiB, padded 31\.25 MiB: \d+\.\d times$", out, re.MULTILINE)
    assert re.search(
        r"^ragged \d+\.\d\d ms, padded with NumPy \d+\.\d\d ms, a loop with NumPy \d+\.\d\d ms$", out, re.MULTILINE
    )
    assert (module.back.values == module.values).all()


def test_lowering_stages(capsys: pytest.CaptureFixture[str]) -> None:
    """Every stage shows what it made."""
    example("lowering_stages")
    parts = dict(
        re.findall(
            r"^==== (.+?) \(\d+ lines\)\n(.*?)(?=\n\n====|\Z)", capsys.readouterr().out, re.DOTALL | re.MULTILINE
        )
    )
    assert set(parts) >= {"ragged program", "cpu: scf", "cpu: llvm", "LLVM IR", "gpu: gpu", "PTX for sm_90"}
    for name, text in (
        ("ragged program", "#ragged.layout"),
        ("cpu: llvm", "llvm."),
        ("LLVM IR", "define "),
        ("PTX for sm_90", ".target sm_90"),
    ):
        assert text in parts[name], name


@pytest.mark.parametrize(
    ("name", "lengths"), [("train_classifier", [3, 0, 5, 1, 0, 2]), ("train_encoder", [3, 9, 1, 20])]
)
def test_training_as_with_padding(name: str, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses of ragged and padded models, of documents of which some are empty where PyTorch can do that."""
    torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")
    monkeypatch.syspath_prepend(EXAMPLES)
    words = torch.tensor(np.random.default_rng(0).standard_normal((sum(lengths), 16)), dtype=torch.float32)
    documents = example("training").Documents(words, lengths, torch.arange(len(lengths)) % 2)
    results = example("training").compare(example(name).models, documents, 5)
    np.testing.assert_allclose(*(run.losses for run in results), atol=1e-5)
    assert results[0].losses[-1] < results[0].losses[0]


def test_a_training_says_how_models_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch: Any = pytest.importorskip("torch", reason="no torch (pip install torch)")
    pytest.importorskip("matplotlib", reason="no matplotlib (pip install matplotlib)")
    monkeypatch.syspath_prepend(EXAMPLES)
    training = example("training")
    documents = training.Documents(torch.ones(6, 16), [4, 2], torch.tensor([0, 1]))
    monkeypatch.setattr(training, "read_documents", lambda longest: documents)
    file = tmp_path / "losses.png"
    models = example("train_classifier").models
    assert training.main(models, None, ["2", "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.startswith("2 documents, 6 words, the longest 4; 1 of a class\nragged: loss ")
    monkeypatch.setattr(training, "TOLERANCE", -1.0)
    assert training.main(models, None, ["2"]) == 1
    assert "expected a difference of at most -1.0, got " in capsys.readouterr().out


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.name)
def test_every_example_has_a_test(file: Path) -> None:
    assert f'"{file.stem}"' in "".join(page.read_text() for page in Path(__file__).parent.glob("test_*.py"))
