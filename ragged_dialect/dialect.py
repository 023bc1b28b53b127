"""The `ragged` dialect object, its layout attribute, and contexts that have it loaded."""

from ragged_dialect import extensions
from ragged_dialect._mlir import ext, ir, load_dialect, make_context

StringAttr = ir.StringAttr


class Ragged(ext.Dialect, name="ragged"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Ragged tensors: raggedness is an encoding on the builtin tensor type."""


class LayoutAttr(Ragged.Attribute, name="layout"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """`#ragged.layout<"dr|d">`: one letter per logical dim, `|` between storage axes."""

    text: StringAttr


def context() -> ir.Context:
    """A new MLIR context with the dialect and its ops loaded, multithreading off."""
    from ragged_dialect import ops  # its classes are of this dialect

    made = make_context(Ragged, *extensions.dialects())
    with made:
        ops.attach_interfaces()
    return made


def load_extensions(context: ir.Context) -> bool:
    """Load the dialects of plug-ins into a context; whether there is one that it did not have."""
    new = [d for d in extensions.dialects() if not context.is_dialect_loaded(d.DIALECT_NAMESPACE)]
    for dialect in new:
        load_dialect(context, dialect)
    return bool(new)
