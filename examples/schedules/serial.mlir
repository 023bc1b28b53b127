// One thread for the sums: on a CPU they stay on the thread that calls. The other nest is as it would be.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %sums = ragged_transform.match %m {layout = "dr|d", name = "linalg.reduce"} : (!transform.any_op) -> !transform.any_op
    %0 = ragged_transform.set %sums {threads = 1} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
