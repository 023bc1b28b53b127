// RUN: ragged-opt --emit-irdl | FileCheck %s
// RUN: ragged-opt --emit-irdl | ragged-opt | FileCheck %s

// CHECK: irdl.dialect @ragged
// CHECK: irdl.attribute @layout
// CHECK: irdl.operation @partition
// CHECK: irdl.operands(x: %{{.*}}, vector: %{{.*}})
