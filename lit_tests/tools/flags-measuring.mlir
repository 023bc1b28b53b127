// RUN: ragged-opt %s --pass-pipeline="func.func(cse),ragged-canonicalize" --mlir-timing 2>&1 >/dev/null | FileCheck %s --check-prefix=TREE
// RUN: ragged-opt %s --pass-pipeline="func.func(cse),cse" --mlir-timing --mlir-timing-display=list 2>&1 >/dev/null | FileCheck %s --check-prefix=LIST
// RUN: ragged-opt %s --pass-pipeline="func.func(cse)" --mlir-timing --mlir-output-format=json 2>&1 >/dev/null | FileCheck %s --check-prefix=JSON
// RUN: ragged-opt %s --cse --mlir-pass-statistics --mlir-pass-statistics-display=list 2>&1 >/dev/null | FileCheck %s --check-prefix=STATISTICS

// TREE: ... Execution time report ...
// TREE: Total Execution Time: {{[0-9.]+}} seconds
// TREE: {{[0-9.]+ \( *[0-9.]+%\)}}  Parser
// TREE: {{%\)}}  'func.func' Pipeline
// TREE-NEXT: {{%\)}}    cse
// TREE-NEXT: {{%\)}}  ragged-canonicalize
// TREE: {{%\)}}  Output
// TREE: {{%\)}}  Rest
// TREE: (100.0%)  Total
// LIST: {{%\)}}  cse
// LIST-NOT: {{%\)}}  cse
// LIST: (100.0%)  Total
// JSON: "duration": {{[0-9.e-]+}}
// JSON: "name": "'func.func' Pipeline"
// JSON: "passes": [
// JSON: "name": "cse"
// JSON: "percentage": 100.0
// JSON: "name": "Total"
// STATISTICS: ... Pass statistics report ...
func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
