// RUN: ragged-opt %s --ragged-canonicalize | FileCheck %s

!list = tensor<?x?xi64, #ragged.layout<"dr">>
!few = tensor<?x?xi64, #ragged.layout<"dw">>
#id = affine_map<(b, i) -> (b, i)>
#b = affine_map<(b) -> (b)>

// Of a sort whose elements are read in windows of three from where segments begin on the first three are asked for.
// CHECK-LABEL: func.func @first_three
// CHECK: ragged.sort %{{.*}}, %{{.*}} {limit = 3}
func.func @first_three(%x: tensor<?xi64>, %o: tensor<?xi64>, %n: tensor<?xi64>) -> !list {
  %s = ragged.sort %x, %o : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %l = ragged.partition %s, %o {dim = 0} : (tensor<?xi64>, tensor<?xi64>) -> !list
  %m = arith.addi %l, %l : !list
  %v = ragged.values %m : (!list) -> tensor<?xi64>
  %starts = ragged.starts %m {level = 1} : (!list) -> tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#b], iterator_types = ["parallel"]} outs(%n : tensor<?xi64>) {
  ^bb0(%k: i64):
    %three = arith.constant 3 : i64
    %zero = arith.constant 0 : i64
    %0 = arith.minsi %k, %three : i64
    %1 = arith.maxsi %0, %zero : i64
    linalg.yield %1 : i64
  } -> tensor<?xi64>
  %w = ragged.assemble %v, %starts, %lengths : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> !few
  %c = ragged.compact %w : (!few) -> !list
  return %c : !list
}

// Not where something else reads all of them, where windows may be longer, or where they begin elsewhere.
// CHECK-LABEL: func.func @all
// CHECK: ragged.sort %{{.*}}, %{{.*}} : (
func.func @all(%x: tensor<?xi64>, %o: tensor<?xi64>, %n: tensor<?xi64>) -> (!list, tensor<?xi64>) {
  %s = ragged.sort %x, %o : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %l = ragged.partition %s, %o {dim = 0} : (tensor<?xi64>, tensor<?xi64>) -> !list
  %starts = ragged.starts %l {level = 1} : (!list) -> tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#b], iterator_types = ["parallel"]} outs(%n : tensor<?xi64>) {
  ^bb0(%k: i64):
    %three = arith.constant 3 : i64
    %0 = arith.minsi %k, %three : i64
    linalg.yield %0 : i64
  } -> tensor<?xi64>
  %w = ragged.assemble %s, %starts, %lengths : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> !few
  %c = ragged.compact %w : (!few) -> !list
  return %c, %s : !list, tensor<?xi64>
}

// CHECK-LABEL: func.func @longer
// CHECK: ragged.sort %{{.*}}, %{{.*}} : (
func.func @longer(%x: tensor<?xi64>, %o: tensor<?xi64>, %n: tensor<?xi64>) -> !list {
  %s = ragged.sort %x, %o : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %l = ragged.partition %s, %o {dim = 0} : (tensor<?xi64>, tensor<?xi64>) -> !list
  %starts = ragged.starts %l {level = 1} : (!list) -> tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#b], iterator_types = ["parallel"]} outs(%n : tensor<?xi64>) {
  ^bb0(%k: i64):
    %three = arith.constant 3 : i64
    %0 = arith.maxsi %k, %three : i64
    linalg.yield %0 : i64
  } -> tensor<?xi64>
  %w = ragged.assemble %s, %starts, %lengths : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> !few
  %c = ragged.compact %w : (!few) -> !list
  return %c : !list
}

// CHECK-LABEL: func.func @elsewhere
// CHECK: ragged.sort %{{.*}}, %{{.*}} : (
func.func @elsewhere(%x: tensor<?xi64>, %o: tensor<?xi64>, %p: tensor<?xi64>, %n: tensor<?xi64>) -> !list {
  %s = ragged.sort %x, %o : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %l = ragged.partition %s, %p {dim = 0} : (tensor<?xi64>, tensor<?xi64>) -> !list
  %starts = ragged.starts %l {level = 1} : (!list) -> tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#b], iterator_types = ["parallel"]} outs(%n : tensor<?xi64>) {
  ^bb0(%k: i64):
    %three = arith.constant 3 : i64
    %0 = arith.minsi %k, %three : i64
    linalg.yield %0 : i64
  } -> tensor<?xi64>
  %w = ragged.assemble %s, %starts, %lengths : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> !few
  %c = ragged.compact %w : (!few) -> !list
  return %c : !list
}
