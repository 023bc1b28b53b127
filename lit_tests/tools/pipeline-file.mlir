// RUN: ragged-opt %s --ragged-to-llvm-pipeline=to=checks --dump-pipeline-file=%t.json | ragged-opt --pass-pipeline="ragged-to-llvm-pipeline{from=ragged to=ragged}" -o %t.out && ragged-opt %s --ragged-file-pipeline="file=%t.json to=layouts" | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: ragged.partition
// CHECK-NOT: ragged.assert_valid
func.func @f(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xf32> {
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %x {dim = 0} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
