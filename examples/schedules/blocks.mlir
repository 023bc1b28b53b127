// A block of 128 threads per component, with 4 accesses of a thread in flight, for both nests: they share a kernel.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %sums = ragged_transform.match %m {layout = "dr|d", name = "linalg.reduce"} : (!transform.any_op) -> !transform.any_op
    %rows = ragged_transform.match %m {layout = "dr|d", name = "linalg.generic"} : (!transform.any_op) -> !transform.any_op
    %both = transform.merge_handles %sums, %rows : !transform.any_op
    %0 = ragged_transform.set %both {schedule = "general", threads = 128, unroll = 4} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
