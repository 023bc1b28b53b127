"""`ragged-opt`: mlir-opt for ragged tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ragged_dialect import plugins
from ragged_dialect.tools.cli import run_tool
from ragged_dialect.tools.flags import written
from ragged_dialect.tools.options import Options, parse_options


def _run(argv: Sequence[str]) -> int:
    options = parse_options(argv)
    with plugins.allowed(not options.passes.no_plugins):
        for name in options.passes.plugins:
            plugins.load(name)
        return _act(options)


def _act(options: Options) -> int:
    if written(options.telling):
        from ragged_dialect.tools import info

        return info.show(options.telling, options.output.output)
    from ragged_dialect.tools.driver import OptDriver

    return OptDriver(options).run()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    return run_tool("ragged-opt", lambda: _run(sys.argv[1:] if argv is None else argv), argv is None)


if __name__ == "__main__":
    sys.exit(main())
