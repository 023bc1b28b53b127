// Sums in equal tiles of rows, the other nest with a block of 64 threads per component.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %sums = ragged_transform.match %m {layout = "dr|d", name = "linalg.reduce", dim = 1} : (!transform.any_op) -> !transform.any_op
    %0 = ragged_transform.set %sums {schedule = "balanced"} : (!transform.any_op) -> !transform.any_op
    %rows = ragged_transform.match %m {layout = "dr|d", name = "linalg.generic"} : (!transform.any_op) -> !transform.any_op
    %1 = ragged_transform.set %rows {schedule = "segment", threads = 64, unroll = 1} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
