"""Writes the type stubs of the MLIR bindings, `typings/torch_mlir`, from the installed wheel.

    python typings/generate.py

The wheel has none. `nanobind.stubgen` reads its extension modules; what it gets wrong, or leaves less
useful than the bindings are, is edited, each place for a reason. Run it again when the wheel's pin moves.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("ir", "passmanager")

EDITS = (
    # The context is a class of the package's own, which the extension module does not know.
    (r"^from torch_mlir\._mlir_libs import Context as Context\n", ""),
    (r"^import (?:_mlir|torch_mlir)\.ir\n", ""),
    (r"\b_mlir\.ir\.(?=[A-Z])", ""),
    (r"\btorch_mlir\.ir\.(?=[A-Z_])", "ir."),
    # The class of a value's type, or of an attribute, depends on the IR: code knows it, stubs do not.
    (r'^_T = TypeVar\("_T", bound=Type\)\n\n', ""),
    (r"\(Generic\[_T\]\)|, Generic\[_T\]|\[_T\]", ""),
    (r"(def type\(self\)) -> _T:", r"\1 -> Any:"),
    (r"(def __getitem__\(self, name: str\)) -> Attribute:", r"\1 -> Any:"),
    (r"(def get\(self, key: str, default: object \| None = None\)) -> Attribute \| None:", r"\1 -> Any:"),
    (r"(def value\(self\)) -> (?:Type|Attribute|object):", r"\1 -> Any:"),
    (r"(def (?:lhs|rhs)\(self\)) -> AffineExpr:", r"\1 -> Any:"),
    (r"(def get_splat_value\(self\)) -> Attribute:", r"\1 -> Any:"),
    (r"(def __getitem__\(self, \w+: int, /\)) -> Attribute:", r"\1 -> Any:"),
    (r"(def parse\(.*\)) -> (?:Attribute|Type):", r"\1 -> Any:"),
    (r"(class ArrayAttributeIterator:[\s\S]*?def __next__\(self\)) -> Attribute:", r"\1 -> Any:"),
    # Code asks for it where one is set.
    (r"current: Final\[Location \| None\]", "current: Final[Location]"),
    # Older bindings give named attributes here.
    (r"(def __iter__\(self\)) -> Iterator\[str\]:", r"\1 -> Iterator[str | NamedAttribute]:"),
    # Without a type the bindings would give what follows as unknown.
    (r"def __len__\(self, /\):", "def __len__(self) -> int:"),
    (r"(def set_type\(self, type: )_T\):", r"\1Type) -> None:"),
    (r"\*arg_types, arg_locs: Sequence\[Location\]", "*arg_types: Type, arg_locs: Sequence[Location]"),
    (r"\*args, arg_locs: Sequence \| None", "*args: Type, arg_locs: Sequence[Location] | None"),
    (r"(?<=: )Callable(?=[,)])|(?<=-> )Callable(?=:)", "Callable[..., Any]"),
    (r"(?<=: )(Sequence|list)(?=[,)]| =| \|)", r"\1[Any]"),
    (r"(?<=-> )(list)(?=:)", r"\1[Any]"),
    # Any mapping, and any values, will do.
    (r"attributes: dict\[str, Attribute\] \| None", "attributes: Mapping[str, Attribute] | None"),
    (r"import Callable, Iterator, Sequence$", "import Callable, Iterator, Mapping, Sequence"),
)
# Sequences: one signature for items and slices.
ITEMS = re.compile(r"^class \w+\(Sequence\[(\w+)\].*?(?=^class )", re.M | re.S)
HEADS = {
    "ir": """
from typing import Any

class Context:
    allow_unregistered_dialects: bool
    def __enter__(self) -> Context: ...
    def __exit__(self, *args: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

""",
    "passmanager": "\nfrom typing import Any\n\nfrom torch_mlir import ir\n",
}


def _items(match: re.Match[str]) -> str:
    item = match[1]
    typed = f"""@overload
    def __getitem__(self, key: int, /) -> {item}: ...

    @overload
    def __getitem__(self, key: slice, /) -> list[{item}]: ..."""
    return match[0].replace("def __getitem__(self, key, /): ...", typed)


def stub(module: str, folder: Path) -> str:
    """The stub of an extension module, without docstrings, written to a folder."""
    target = folder / f"{module}.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "--include-private", "--exclude-docstrings"]
    subprocess.run([*command, "--module", f"torch_mlir._mlir_libs._mlir.{module}", "--output-file", target], check=True)
    text = target.read_text()
    text = re.sub(r"^    (?:Generic|TypeVar),\n", "", text, flags=re.M)
    for pattern, replacement in EDITS:
        text = re.sub(pattern, replacement, text, flags=re.M)
    text = ITEMS.sub(_items, text)
    body = re.search(r"^(?:class|[a-z_]\w* = )", text, re.M)
    assert body is not None
    text = text[: body.start()].rstrip() + "\n" + HEADS[module] + "\n" + text[body.start() :]
    target.write_text(text)
    return text


if __name__ == "__main__":
    for name in MODULES:
        print(name, stub(name, HERE / "torch_mlir").count("\n"), "lines")
