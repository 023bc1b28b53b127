"""What scripts write: `ragged.mapping` on ops, and the code that is made of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError, VerifyError
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.tools.ragged_opt import main

SCHEDULED = (ROOT / "examples" / "schedules" / "program.mlir").read_text()
FLAT = """#j = #ragged.layout<"dr|d">
func.func @f(%v: tensor<?x64xf32>, %o: tensor<?xi64>, %w: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> tensor<?x?x64xf32, #j>
  %y = arith.mulf %x, %x MAPPING : tensor<?x?x64xf32, #j>
  %z = math.exp %y : tensor<?x?x64xf32, #j>
  %m = ragged.merge %z {dim = 0} : (tensor<?x?x64xf32, #j>) -> tensor<?x64xf32>
  return %m : tensor<?x64xf32>
}
"""


def apart(mapping: str) -> str:
    """The scheduled program with settings for its sums, and others for its rows."""
    rows = 'iterator_types = ["parallel", "parallel", "parallel"]'
    text = SCHEDULED.replace("dimensions = [1]", f"dimensions = [1] {{ragged.mapping = {{{mapping}}}}}")
    return text.replace(rows, f'{rows}, ragged.mapping = {{schedule = "segment"}}')


def gpu_code(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The host code of a program for GPUs, without checks."""
    (tmp_path / "f.mlir").write_text(text)
    main([str(tmp_path / "f.mlir"), "--pass-pipeline=ragged-to-gpu-pipeline{check=0 to=map}"])
    return capsys.readouterr().out


def test_settings_of_flat_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Work that is flat over the values is mapped as its op says; what follows it without settings joins it."""
    text = FLAT.replace("MAPPING", "{ragged.mapping = {threads = 64, unroll = 2, tile = 512}}")
    out = gpu_code(text, tmp_path, capsys)
    mapping = '{ragged.mapping = {schedule = "general", threads = 64 : i64, unroll = 2 : i64}}'
    assert out.count("scf.forall") == out.count(mapping) == 1
    assert "512" in out
    assert "4096" not in out
    plain = gpu_code(FLAT.replace("MAPPING", ""), tmp_path, capsys)
    assert "4096" in plain


@pytest.mark.sampled(8)
@pytest.mark.parametrize("mapping", ["threads = 1", "tile = 128", "tile = 1048576", "threads = 32, tile = 64"])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_mapped_programs_have_the_same_results(mapping: str, target: str) -> None:
    rng = np.random.default_rng(0)
    values, centres = rng.standard_normal((3000, 64), np.float32), rng.standard_normal((4, 64), np.float32)
    arguments = values, np.array([0, 3, 3, 1500, 3000]), centres
    sums = apart(mapping if mapping == "threads = 1" else f'schedule = "balanced", {mapping}')
    if target == "cpu" or "1048576" not in mapping:  # a thread adds so many rows in a step at most
        found, wanted = (rg.compile(text, target=target)(*arguments) for text in (sums, SCHEDULED))
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    flat = FLAT.replace("MAPPING", f"{{ragged.mapping = {{{mapping}}}}}")
    np.testing.assert_allclose(rg.compile(flat, target=target)(*arguments), np.exp(values * values), rtol=1e-4)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ('schedule = "balanced"', "expected a schedule that fits the loop nest, got 'balanced'"),
        ("tile = 33", "expected tile of ragged.mapping among 32, 64, "),
        ("tile = 64.0", "expected tile of ragged.mapping among 32, 64, .* got 6.4"),
        ("threads = true", "expected threads of ragged.mapping among 1, 32, .* got true"),
        ('schedule = "zz"', "expected schedule of ragged.mapping among general, balanced, segment, contract, got"),
    ],
)
def test_settings_that_do_not_fit_flat_work(mapping: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        rg.compile(FLAT.replace("MAPPING", f"{{ragged.mapping = {{{mapping}}}}}"), target="emulator")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("general", "expected no tile where a block has an iteration of the loop nest, got 1048576"),
        ("balanced", "expected a tile of at most [0-9]+ elements, got 1048576"),
    ],
)
def test_tiles_that_do_not_fit(schedule: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        rg.compile(apart(f'schedule = "{schedule}", tile = 1048576'), target="emulator")


def test_scans_are_mapped() -> None:
    """The loops that a scan becomes have its settings."""
    rows = 'tensor<?x?x4xf32, #ragged.layout<"dr|d">>'
    mark = "ragged.mapping = {threads = 64}"
    text = f"""func.func @f(%x: {rows}) -> {rows} {{
      %0 = ragged.scan %x {{dim = 1, kind = "sum", {mark}}} : ({rows}) -> {rows}
      return %0 : {rows}
    }}"""
    for passes in ("convert-ragged-to-scf", "ragged-decompose-scans"):
        module = load_module(text, context())
        Stage("s", passes).run(module)
        assert "ragged.mapping = {threads = 64 : i64}" in print_module(module)


ROWS = 'tensor<?x?x4xf32, #ragged.layout<"dr|d">>'


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_softmax_is_mapped(target: str) -> None:
    """The loops that it becomes have its settings, and those of what follows theirs."""
    text = f"""func.func @f(%x: {ROWS}, %o: {ROWS}) -> {ROWS} {{
      %y = linalg.softmax {{ragged.mapping = {{threads = 64}}}} dimension(1)
           ins(%x : {ROWS}) outs(%o : {ROWS}) -> {ROWS}
      %z = arith.mulf %y, %x {{ragged.mapping = {{threads = 128}}}} : {ROWS}
      return %z : {ROWS}
    }}"""
    module = load_module(text, context())
    Stage("s", "convert-ragged-to-scf").run(module)
    found = print_module(module)
    assert "ragged.mapping = {threads = 64 : i64}" in found
    assert "ragged.mapping = {threads = 128 : i64}" in found
    values = np.random.default_rng(0).random((7, 4), np.float32)
    x = values, np.array([0, 3, 3, 7])
    got, *_ = rg.compile(text, target=target)(x, x)
    parts = [np.exp(part) / np.exp(part).sum(0) * part for part in (values[:3], values[3:])]
    np.testing.assert_allclose(got, np.concatenate(parts), 1e-5)


def test_settings_of_what_is_generalized() -> None:
    """An elementwise op of static tiles becomes a nest, which has them."""
    tiles = 'tensor<2x4x8xf32, #ragged.layout<"dt|d">>'
    text = f"""func.func @f(%x: {tiles}) -> {tiles} {{
      %y = math.exp %x {{ragged.mapping = {{threads = 64}}}} : {tiles}
      return %y : {tiles}
    }}"""
    module = load_module(text, context())
    Stage("s", "ragged-canonicalize").run(module)
    assert "attrs =  {ragged.mapping = {threads = 64 : i64}}" in print_module(module)


@pytest.mark.parametrize("name", ["empty", "annotate"])
def test_settings_of_what_has_no_loops_are_refused(name: str) -> None:
    mapping = "ragged.mapping = {threads = 64}"
    text = f"func.func @f(%x: {ROWS}) {{\n %y = ragged.{name} %x {{{mapping}}} : ({ROWS}) -> {ROWS}\n return }}"
    with pytest.raises(VerifyError, match=r"expected ragged.mapping on what has loops, got it on an op that has none"):
        rg.compile(text)
    with pytest.raises(VerifyError, match=r"'func.func' op expected ragged.mapping on what has loops"):
        rg.compile(f"func.func @f(%x: {ROWS}) attributes {{{mapping}}} {{ return }}")


def test_too_few_threads_are_refused() -> None:
    """Lanes of a warp look for components together: one thread would read what is not there."""
    with pytest.raises(PassError, match="expected at least 32 threads for 'balanced', got 1"):
        rg.compile(apart('schedule = "balanced", threads = 1'), target="emulator")


def test_one_thread_keeps_a_nest_on_the_thread_that_calls(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "examples" / "schedules"
    for flags, parallel in ((["serial"], 0), ([], 1)):
        scripts = "".join(f"ragged-transform-interpreter{{library={folder / flag}.mlir}}," for flag in flags)
        tail = "ragged-to-llvm-pipeline{from=scf to=bufferize},convert-ragged-forall-to-loops"
        pipeline = f"ragged-to-llvm-pipeline{{check=0 to=ragged}},{scripts}{tail}"
        assert main([str(folder / "program.mlir"), f"--pass-pipeline={pipeline}"]) == 0
        assert capsys.readouterr().out.count("ragged.parallel") == parallel
