"""The package as users get it: the wheel built from the sdist, its tools, and the Makefile's set-up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "ragged_dialect", "passes", "lowering")
# Paths and options of this run must not reach the processes under test.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MAKE", "MFLAGS"))}


REVERSE = """!t = tensor<?x?xf32, #ragged.layout<"dr">>
func.func @f(%x: !t) -> !t {
  %y = rowtools.reverse %x {dim = 1} : (!t) -> !t
  return %y : !t
}
"""
PARTS = "array([1, 2, 3], 'f4'), array([0, 2, 3])"


def run(*command: str | Path, cwd: Path | str, expect: int = 0) -> str:
    """Output (standard error with it) of a command that must end with an exit code."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == expect, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist, built from a copy of the sources."""
    pytest.importorskip("build.env")
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    run(sys.executable, "-m", "build", "--no-isolation", folder, cwd=folder)
    [made] = (folder / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a clean environment with the wheel; the dependencies are this one's."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--no-index", "--no-deps", wheel, cwd="/")
    [site] = folder.glob("lib/python*/site-packages")
    folders = [sysconfig.get_path("purelib"), *(path for path in sys.path if path.endswith("site-packages"))]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in folders))
    return folder / "bin"


class TestWheel:
    """What the wheel holds."""

    def test_one_top_level(self, wheel: Path) -> None:
        tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        assert {top for top in tops if not top.endswith(".dist-info")} == {"ragged_dialect"}

    @pytest.mark.parametrize("folder", ["ragged_dialect", "passes", "lowering"])
    def test_every_module(self, wheel: Path, folder: str) -> None:
        prefix = "" if folder == "ragged_dialect" else "ragged_dialect/"
        expected = {
            prefix + path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*.py*")
            if path.suffix in (".py", ".pyi")
        }
        assert expected <= set(zipfile.ZipFile(wheel).namelist())

    def test_math_prelude(self, wheel: Path) -> None:
        assert "ragged_dialect/ptx/prelude.ll" in zipfile.ZipFile(wheel).namelist()

    def test_typed_and_licensed(self, wheel: Path) -> None:
        names = zipfile.ZipFile(wheel).namelist()
        assert "ragged_dialect/py.typed" in names
        [license_] = [name for name in names if name.endswith("/LICENSE")]
        text = zipfile.ZipFile(wheel).read(license_).decode()
        assert "Apache License" in text
        assert "LLVM Exceptions" in text

    def test_metadata(self, wheel: Path) -> None:
        [name] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
        metadata = zipfile.ZipFile(wheel).read(name).decode()
        assert "License-Expression: Apache-2.0 WITH LLVM-exception" in metadata
        assert "Requires-Python: >=3.10" in metadata
        assert "Requires-Dist: torch-mlir==20261001" in metadata


class TestInstalled:
    """The tools of a clean environment, run from `/`."""

    @pytest.mark.sampled(5)
    @pytest.mark.parametrize("tool", ["ragged-opt", "ragged-run", "ragged-translate", "ragged-compile", "ragged-lsp"])
    def test_help(self, installed: Path, tool: str) -> None:
        assert tool in run(installed / tool, "--help", cwd="/")

    def test_version_names_the_provider(self, installed: Path) -> None:
        assert re.search(r"torch_mlir 20261001|mlir \S+", run(installed / "ragged-opt", "--version", cwd="/"))

    def test_imports_come_from_the_wheel(self, installed: Path) -> None:
        code = "import ragged_dialect.passes.base, ragged_dialect.lowering as l; print(l.__file__)"
        assert str(installed.parent) in run(installed / "python", "-c", code, cwd="/")

    @pytest.mark.slow
    def test_a_plugin_from_a_wheel(self, installed: Path, tmp_path: Path) -> None:
        """The example: its passes are listed, its tests pass, and its op runs on every target."""
        source = shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "plugin")
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", source, cwd="/")
        [made] = (source / "dist").glob("*.whl")
        run(
            sys.executable,
            "-m",
            "pip",
            "--python",
            installed / "python",
            "install",
            "--no-index",
            "--no-deps",
            made,
            cwd="/",
        )
        assert "--rowtools-drop-prints: " in run(installed / "ragged-opt", "--list-passes", cwd="/")
        run(installed / "python", "-m", "lit.main", "-q", source / "lit_tests", cwd="/")
        for target in ("cpu", "emulator", "ptx-emulator"):
            code = (
                f"import ragged_dialect as rg; f = rg.compile({REVERSE!r}, target={target!r}); print(f(({PARTS}))[0])"
            )
            assert "[2. 1. 3.]" in run(installed / "python", "-c", f"from numpy import array; {code}", cwd="/")


class TestMakefile:
    """Set-up: once, and again only when pyproject.toml changes."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        """A folder with the Makefile, set up a while ago."""
        if shutil.which("make") is None:
            pytest.skip("no make")
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(ROOT / name, tmp_path / name)
        (tmp_path / ".venv").mkdir()
        names = (".venv/.created", "pyproject.toml", ".venv/.installed-run", ".venv/.installed-dev")
        for at, name in enumerate(names):
            (tmp_path / name).touch()
            os.utime(tmp_path / name, (at, at))
        return tmp_path

    @pytest.mark.parametrize("target", ["demo", "test", "test-all"])
    def test_second_run_does_not_install(self, project: Path, target: str) -> None:
        assert "pip" not in run("make", "--dry-run", target, cwd=project)

    def test_changed_pyproject_installs_again(self, project: Path) -> None:
        os.utime(project / "pyproject.toml", (9, 9))
        assert "install --editable .\n" in run("make", "--dry-run", "demo", cwd=project)
        assert 'install --editable ".[dev]"' in run("make", "--dry-run", "test", cwd=project)

    def test_test_ends_with_pytest(self, project: Path) -> None:
        commands = run("make", "--dry-run", "test", cwd=project).splitlines()
        tools = [re.findall(r"\.venv/bin/(\w+)", line)[0] for line in commands[:-1]]
        assert tools == ["ruff", "ruff", "pyright", "lit"]
        assert "-m pytest --numprocesses=" in commands[-1]

    @pytest.mark.parametrize(
        ("script", "message"),
        [
            ("case $1 in --version) echo Python 3.9;; *) exit 1;; esac", "expected Python 3.10 or newer, got: Python"),
            ('case "$2" in *ensurepip*) exit 1;; *) exit 0;; esac', "apt-get install python3-venv"),
        ],
    )
    def test_unfit_python_is_named(self, project: Path, script: str, message: str) -> None:
        shutil.rmtree(project / ".venv")
        unfit = project / "unfit-python"
        unfit.write_text(f"#!/bin/sh\n{script}\n")
        unfit.chmod(0o755)
        assert message in run("make", "demo", f"PYTHON={unfit}", cwd=project, expect=2)


def test_links_are_relative() -> None:
    for name in ("passes", "lowering"):
        assert os.readlink(ROOT / "ragged_dialect" / name) == f"../{name}"
