// The named pipelines as sequences, a stage an op: a script includes one, or has its stages with ops of its own between.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @ragged_to_llvm(%m: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %layouts = ragged_transform.apply %m {pipeline = "ragged-to-llvm-pipeline{from=layouts to=layouts}"} : (!transform.any_op) -> !transform.any_op
    %checks = ragged_transform.apply %layouts {pipeline = "ragged-to-llvm-pipeline{from=checks to=checks}"} : (!transform.any_op) -> !transform.any_op
    %ragged = ragged_transform.apply %checks {pipeline = "ragged-to-llvm-pipeline{from=ragged to=ragged}"} : (!transform.any_op) -> !transform.any_op
    %scf = ragged_transform.apply %ragged {pipeline = "ragged-to-llvm-pipeline{from=scf to=scf}"} : (!transform.any_op) -> !transform.any_op
    %dense = ragged_transform.apply %scf {pipeline = "ragged-to-llvm-pipeline{from=dense to=dense}"} : (!transform.any_op) -> !transform.any_op
    %bufferize = ragged_transform.apply %dense {pipeline = "ragged-to-llvm-pipeline{from=bufferize to=bufferize}"} : (!transform.any_op) -> !transform.any_op
    %loops = ragged_transform.apply %bufferize {pipeline = "ragged-to-llvm-pipeline{from=loops to=loops}"} : (!transform.any_op) -> !transform.any_op
    %llvm = ragged_transform.apply %loops {pipeline = "ragged-to-llvm-pipeline{from=llvm to=llvm}"} : (!transform.any_op) -> !transform.any_op
    transform.yield %llvm : !transform.any_op
  }
  transform.named_sequence @ragged_to_gpu(%m: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %layouts = ragged_transform.apply %m {pipeline = "ragged-to-gpu-pipeline{from=layouts to=layouts}"} : (!transform.any_op) -> !transform.any_op
    %checks = ragged_transform.apply %layouts {pipeline = "ragged-to-gpu-pipeline{from=checks to=checks}"} : (!transform.any_op) -> !transform.any_op
    %ragged = ragged_transform.apply %checks {pipeline = "ragged-to-gpu-pipeline{from=ragged to=ragged}"} : (!transform.any_op) -> !transform.any_op
    %scf = ragged_transform.apply %ragged {pipeline = "ragged-to-gpu-pipeline{from=scf to=scf}"} : (!transform.any_op) -> !transform.any_op
    %dense = ragged_transform.apply %scf {pipeline = "ragged-to-gpu-pipeline{from=dense to=dense}"} : (!transform.any_op) -> !transform.any_op
    %bufferize = ragged_transform.apply %dense {pipeline = "ragged-to-gpu-pipeline{from=bufferize to=bufferize}"} : (!transform.any_op) -> !transform.any_op
    %loops = ragged_transform.apply %bufferize {pipeline = "ragged-to-gpu-pipeline{from=loops to=loops}"} : (!transform.any_op) -> !transform.any_op
    %device = ragged_transform.apply %loops {pipeline = "ragged-to-gpu-pipeline{from=device to=device}"} : (!transform.any_op) -> !transform.any_op
    %map = ragged_transform.apply %device {pipeline = "ragged-to-gpu-pipeline{from=map to=map}"} : (!transform.any_op) -> !transform.any_op
    %gpu = ragged_transform.apply %map {pipeline = "ragged-to-gpu-pipeline{from=gpu to=gpu}"} : (!transform.any_op) -> !transform.any_op
    transform.yield %gpu : !transform.any_op
  }
}
