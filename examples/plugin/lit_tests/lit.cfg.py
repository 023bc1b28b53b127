"""lit configuration: `lit lit_tests` with ragged-dialect and rowtools installed."""

# ruff: noqa: F821  (lit provides `config`)

import os
import sys
import tempfile
from pathlib import Path

import lit.formats

config.name = "rowtools"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(Path(__file__).resolve().parent)
config.test_exec_root = tempfile.gettempdir()
config.environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
tool = f"{sys.executable} -m ragged_dialect.tools.ragged_opt"
for name, command in (("ragged-opt", tool), ("FileCheck", f"{sys.executable} -m filecheck")):
    config.substitutions.append((rf"(?<![\w./-]){name}(?![\w./-])", command))
