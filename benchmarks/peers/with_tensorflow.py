"""TensorFlow's ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from cases import Case

VERSION = tf.__version__


def _ragged(case: Case) -> Any:
    return tf.RaggedTensor.from_row_splits(tf.constant(case.values), tf.constant(case.offsets), validate=False)


def _on(function: Callable[[Any, Case], Any]) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        x = _ragged(case)

        def call() -> Any:
            found = function(x, case)
            return (found.values if isinstance(found, tf.RaggedTensor) else found).numpy()

        return call

    return prepare


def _filter(case: Case) -> Callable[[], Any]:
    x, mask = _ragged(case), tf.RaggedTensor.from_row_splits(case.mask, case.offsets, validate=False)
    return lambda: tf.ragged.boolean_mask(x, mask).values.numpy()


OPERATIONS = {
    "sum": _on(lambda x, case: tf.reduce_sum(x, axis=1)),
    "max": _on(lambda x, case: tf.reduce_max(x, axis=1)),
    "mean": _on(lambda x, case: tf.reduce_mean(x, axis=1)),
    "to_padded": _on(lambda x, case: x.to_tensor()),
    "take": _on(lambda x, case: tf.gather(x, case.picked)),
    "concat": _on(lambda x, case: tf.concat([x, x], axis=1)),
    "x * 2 + 1": _on(lambda x, case: x * 2 + 1),
    "filter": _filter,
}
