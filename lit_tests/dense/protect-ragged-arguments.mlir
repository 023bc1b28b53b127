// RUN: ragged-opt %s --protect-ragged-arguments | FileCheck %s

// CHECK-LABEL: func.func @entry
// CHECK-SAME: %{{.*}}: tensor<?xf32> {bufferization.writable = false}
// CHECK-SAME: %{{[^:]*}}: index,
// CHECK-SAME: %{{.*}}: tensor<?xi64> {bufferization.writable = false, test.mark}
func.func @entry(%x: tensor<?xf32>, %n: index, %o: tensor<?xi64> {test.mark}) {
  return
}

// Functions that only the program calls may reuse what they are given.
// CHECK-LABEL: func.func private @inner
// CHECK-NOT: writable
func.func private @inner(%x: tensor<?xf32>) {
  return
}
