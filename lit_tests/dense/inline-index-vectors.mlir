// RUN: ragged-opt %s --split-input-file --inline-index-vectors --canonicalize --cse | FileCheck %s

#id = affine_map<(d) -> (d)>

// The lengths of components that are taken: nothing has the lengths of all.
// CHECK-LABEL: func.func @taken(
// CHECK-SAME: %[[OFFSETS:.*]]: tensor<?xi64>, %[[IDS:.*]]: tensor<?xi64>)
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[ID:.*]] = tensor.extract %[[IDS]][%[[I]]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[ID]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %c1
// CHECK: %[[HIGH:.*]] = tensor.extract %[[OFFSETS]][%[[NEXT]]]
// CHECK: %[[LOW:.*]] = tensor.extract %[[OFFSETS]][%[[AT]]]
// CHECK: %[[N:.*]] = arith.subi %[[HIGH]], %[[LOW]]
// CHECK: linalg.yield %[[N]]
// CHECK-NOT: linalg.generic
func.func @taken(%offsets: tensor<?xi64>, %ids: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = tensor.dim %offsets, %c0 : tensor<?xi64>
  %count = arith.subi %size, %c1 : index
  %e = tensor.empty(%count) : tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %next = arith.addi %i, %c1 : index
    %high = tensor.extract %offsets[%next] : tensor<?xi64>
    %low = tensor.extract %offsets[%i] : tensor<?xi64>
    %n = arith.subi %high, %low : i64
    linalg.yield %n : i64
  } -> tensor<?xi64>
  %m = tensor.dim %ids, %c0 : tensor<?xi64>
  %f = tensor.empty(%m) : tensor<?xi64>
  %taken = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%f : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %at = arith.index_cast %id : i64 to index
    %n = tensor.extract %lengths[%at] : tensor<?xi64>
    linalg.yield %n : i64
  } -> tensor<?xi64>
  return %taken : tensor<?xi64>
}

// -----

#id = affine_map<(d) -> (d)>

// A check that looks for an index out of range, and then reads it, computes each; so does what asks for the size.
// CHECK-LABEL: func.func @checked(
// CHECK-NOT: linalg.generic
// CHECK: scf.for
// CHECK:   arith.addi
// CHECK:   ragged.fold
// CHECK: scf.if
// CHECK:   arith.addi
func.func @checked(%ids: tensor<?xi64>, %count: i64) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : index
  %zero = arith.constant 0 : i64
  %size = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%size) : tensor<?xi64>
  %places = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %p = arith.addi %id, %count : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %n = tensor.dim %places, %c0 : tensor<?xi64>
  %bad = scf.for %i = %c0 to %n step %c1 iter_args(%found = %none) -> (index) {
    %p = tensor.extract %places[%i] : tensor<?xi64>
    %low = arith.cmpi slt, %p, %zero : i64
    %here = arith.select %low, %i, %none : index
    %first = arith.minui %found, %here : index
    scf.yield %first : index
  } {ragged.fold = {kind = "search"}}
  %is = arith.cmpi sge, %bad, %c0 : index
  %shown = scf.if %is -> i64 {
    %p = tensor.extract %places[%bad] : tensor<?xi64>
    scf.yield %p : i64
  } else {
    scf.yield %zero : i64
  }
  return %shown : i64
}

// -----

#id = affine_map<(d) -> (d)>
#row = affine_map<(i, d) -> (i, d)>

// What takes one load is computed where a flat op takes a row by it, also where that comes after a check.
// CHECK-LABEL: func.func @rows(
// CHECK: linalg.generic {{.*}} ["parallel", "parallel"]
// CHECK:   tensor.extract %{{.*}} : tensor<?xi64>
// CHECK:   arith.addi
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @rows(%x: tensor<?x8xf32>, %ids: tensor<?xi64>, %count: i64, %good: i1) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%size) : tensor<?xi64>
  %rows = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %p = arith.addi %id, %count : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %result = scf.if %good -> tensor<?x8xf32> {
    %f = tensor.empty(%size) : tensor<?x8xf32>
    %values = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<?x8xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %d = linalg.index 1 : index
      %id = tensor.extract %rows[%i] : tensor<?xi64>
      %at = arith.index_cast %id : i64 to index
      %v = tensor.extract %x[%at, %d] : tensor<?x8xf32>
      linalg.yield %v : f32
    } -> tensor<?x8xf32>
    scf.yield %values : tensor<?x8xf32>
  } else {
    scf.yield %x : tensor<?x8xf32>
  }
  return %result : tensor<?x8xf32>
}

// -----

#id = affine_map<(d) -> (d)>
#row = affine_map<(i, d) -> (i, d)>

// What divides stays where rows read it, each for every feature; where elements do, each once, it is computed there.
// CHECK-LABEL: func.func @divided(
// CHECK: linalg.generic {{.*}} ["parallel"]
// CHECK:   arith.remsi
// CHECK: linalg.generic {{.*}} ["parallel", "parallel"]
// CHECK-NOT: arith.remsi
// CHECK: linalg.generic {{.*}} ["parallel"]
// CHECK:   arith.remsi
// CHECK:   tensor.extract
// CHECK-NOT: linalg.generic
func.func @divided(%x: tensor<?x8xf32>, %y: tensor<?xf32>, %n: i64, %size: index) -> (tensor<?x8xf32>, tensor<?xf32>) {
  %c8 = arith.constant 8 : index
  %e = tensor.empty(%c8) : tensor<?xi64>
  %columns = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %p = arith.remsi %k, %n : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %f = tensor.empty(%size) : tensor<?x8xf32>
  %values = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<?x8xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %d = linalg.index 1 : index
    %column = tensor.extract %columns[%d] : tensor<?xi64>
    %at = arith.index_cast %column : i64 to index
    %v = tensor.extract %x[%i, %at] : tensor<?x8xf32>
    linalg.yield %v : f32
  } -> tensor<?x8xf32>
  %g = tensor.empty(%size) : tensor<?xi64>
  %places = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%g : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %p = arith.remsi %k, %n : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %h = tensor.empty(%size) : tensor<?xf32>
  %taken = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%h : tensor<?xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %place = tensor.extract %places[%i] : tensor<?xi64>
    %at = arith.index_cast %place : i64 to index
    %v = tensor.extract %y[%at] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %values, %taken : tensor<?x8xf32>, tensor<?xf32>
}

// -----

#id = affine_map<(d) -> (d)>
#row = affine_map<(i, d) -> (i, d)>

// A vector stays that is a result, that takes two loads and is read for every feature of a row, or that takes three.
// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-6: linalg.generic
func.func @kept(%x: tensor<?x8xf32>, %ids: tensor<?xi64>, %count: i64) -> (tensor<?xi64>, tensor<?xi64>, tensor<?x8xf32>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%size) : tensor<?xi64>
  %result = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %p = arith.addi %id, %count : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %of_it = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %result[%i] : tensor<?xi64>
    %p = arith.muli %id, %count : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %rows = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %next = arith.addi %i, %c1 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %other = tensor.extract %ids[%next] : tensor<?xi64>
    %p = arith.subi %id, %other : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %f = tensor.empty(%size) : tensor<?x8xf32>
  %values = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<?x8xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %d = linalg.index 1 : index
    %id = tensor.extract %rows[%i] : tensor<?xi64>
    %at = arith.index_cast %id : i64 to index
    %v = tensor.extract %x[%at, %d] : tensor<?x8xf32>
    linalg.yield %v : f32
  } -> tensor<?x8xf32>
  %three = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %a = tensor.extract %ids[%i] : tensor<?xi64>
    %at = arith.index_cast %a : i64 to index
    %b = tensor.extract %ids[%at] : tensor<?xi64>
    %next = arith.index_cast %b : i64 to index
    %c = tensor.extract %ids[%next] : tensor<?xi64>
    linalg.yield %c : i64
  } -> tensor<?xi64>
  %of_three = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %three[%i] : tensor<?xi64>
    linalg.yield %id : i64
  } -> tensor<?xi64>
  return %result, %of_it, %values, %of_three : tensor<?xi64>, tensor<?xi64>, tensor<?x8xf32>, tensor<?xi64>
}

// A loop through a vector has each element once; one that reads it at another place may have it more often.

// CHECK-LABEL: func.func @loops
// CHECK-SAME: (%[[IDS:.*]]: tensor<?xi64>
// CHECK: %[[READ:.*]] = linalg.generic
// CHECK: scf.for %[[K:.*]] = %c0
// CHECK:   %[[ID:.*]] = tensor.extract %[[IDS]][%[[K]]]
// CHECK:   %[[AT:.*]] = arith.muli %[[ID]]
// CHECK:   tensor.extract %[[READ]]
func.func @loops(%ids: tensor<?xi64>, %m: memref<?xi64>, %size: index, %count: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%size) : tensor<?xi64>
  %once = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %p = arith.muli %id, %count : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %often = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %p = arith.addi %id, %count : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  scf.for %k = %c0 to %size step %c1 {
    %p = tensor.extract %once[%k] : tensor<?xi64>
    %at = arith.index_cast %p : i64 to index
    %q = tensor.extract %often[%at] : tensor<?xi64>
    memref.store %q, %m[%k] : memref<?xi64>
  }
  return
}

// -----

#id = affine_map<(d) -> (d)>

// The first elements: a start that two offsets make is computed where a flat op reads it once, and in a loop over components.
// CHECK-LABEL: func.func @firsts(
// CHECK-SAME: %[[OFFSETS:.*]]: tensor<?xi64>, %[[X:.*]]: tensor<?xf32>)
// CHECK: linalg.generic
// CHECK:   %[[I:.*]] = linalg.index 0
// CHECK-DAG: tensor.extract %[[OFFSETS]][%[[I]]]
// CHECK-DAG: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK-DAG: tensor.extract %[[OFFSETS]][%[[NEXT]]]
// CHECK:   tensor.extract %[[X]]
// CHECK: scf.forall (%[[J:.*]]) in
// CHECK-DAG: tensor.extract %[[OFFSETS]][%[[J]]]
// CHECK-DAG: %[[AFTER:.*]] = arith.addi %[[J]], %c1
// CHECK-DAG: tensor.extract %[[OFFSETS]][%[[AFTER]]]
// CHECK:   tensor.extract_slice %[[X]]
func.func @firsts(%offsets: tensor<?xi64>, %x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = tensor.dim %offsets, %c0 : tensor<?xi64>
  %count = arith.subi %size, %c1 : index
  %e = tensor.empty(%count) : tensor<?xi64>
  %starts = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %next = arith.addi %i, %c1 : index
    %high = tensor.extract %offsets[%next] : tensor<?xi64>
    %low = tensor.extract %offsets[%i] : tensor<?xi64>
    %s = arith.minsi %high, %low : i64
    linalg.yield %s : i64
  } -> tensor<?xi64>
  %f = tensor.empty(%count) : tensor<?xf32>
  %flat = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%f : tensor<?xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %s = tensor.extract %starts[%i] : tensor<?xi64>
    %at = arith.index_cast %s : i64 to index
    %v = tensor.extract %x[%at] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %rows = scf.forall (%i) in (%count) shared_outs(%o = %f) -> (tensor<?xf32>) {
    %s = tensor.extract %starts[%i] : tensor<?xi64>
    %at = arith.index_cast %s : i64 to index
    %v = tensor.extract_slice %x[%at] [1] [1] : tensor<?xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %o[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }
  }
  return %flat, %rows : tensor<?xf32>, tensor<?xf32>
}

// -----

#id = affine_map<(d) -> (d)>

// What two loads make is not computed for every element that asks for its component's.
// CHECK-LABEL: func.func @of_rows(
// CHECK: %[[LENGTHS:.*]] = linalg.generic
// CHECK: linalg.generic
// CHECK:   tensor.extract %[[LENGTHS]]
func.func @of_rows(%offsets: tensor<?xi64>, %ids: tensor<?xi64>, %x: tensor<?xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = tensor.dim %offsets, %c0 : tensor<?xi64>
  %count = arith.subi %size, %c1 : index
  %e = tensor.empty(%count) : tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %next = arith.addi %i, %c1 : index
    %high = tensor.extract %offsets[%next] : tensor<?xi64>
    %low = tensor.extract %offsets[%i] : tensor<?xi64>
    %n = arith.subi %high, %low : i64
    linalg.yield %n : i64
  } -> tensor<?xi64>
  %m = tensor.dim %ids, %c0 : tensor<?xi64>
  %f = tensor.empty(%m) : tensor<?xf32>
  %made = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%f : tensor<?xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %at = arith.index_cast %id : i64 to index
    %n = tensor.extract %lengths[%at] : tensor<?xi64>
    %v = arith.sitofp %n : i64 to f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %made : tensor<?xf32>
}

// -----

#id = affine_map<(d) -> (d)>

// What takes more than a few ops, or a division, is not computed in a loop over components.
// CHECK-LABEL: func.func @slow(
// CHECK: %[[LONG:.*]] = linalg.generic
// CHECK: %[[DIVIDED:.*]] = linalg.generic
// CHECK: scf.forall
// CHECK-DAG: tensor.extract %[[LONG]]
// CHECK-DAG: tensor.extract %[[DIVIDED]]
func.func @slow(%offsets: tensor<?xi64>, %count: index) -> (tensor<?xi64>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : i64
  %e = tensor.empty(%count) : tensor<?xi64>
  %long = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %next = arith.addi %i, %c1 : index
    %high = tensor.extract %offsets[%next] : tensor<?xi64>
    %low = tensor.extract %offsets[%i] : tensor<?xi64>
    %n = arith.subi %high, %low : i64
    %a = arith.minsi %n, %c2 : i64
    %b = arith.maxsi %n, %c2 : i64
    %s = arith.subi %b, %a : i64
    linalg.yield %s : i64
  } -> tensor<?xi64>
  %divided = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %n = tensor.extract %offsets[%i] : tensor<?xi64>
    %d = arith.divsi %n, %c2 : i64
    linalg.yield %d : i64
  } -> tensor<?xi64>
  %made = scf.forall (%i) in (%count) shared_outs(%o = %e) -> (tensor<?xi64>) {
    %a = tensor.extract %long[%i] : tensor<?xi64>
    %b = tensor.extract %divided[%i] : tensor<?xi64>
    %s = arith.addi %a, %b : i64
    %v = tensor.from_elements %s : tensor<1xi64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %o[%i] [1] [1] : tensor<1xi64> into tensor<?xi64>
    }
  }
  return %made : tensor<?xi64>
}

// -----

#id = affine_map<(d) -> (d)>

// What takes two loads is there for what reads all of it.
// CHECK-LABEL: func.func @lengths(
// CHECK: %[[LENGTHS:.*]] = linalg.generic
// CHECK: return %[[LENGTHS]]
func.func @lengths(%offsets: tensor<?xi64>, %count: index) -> (tensor<?xi64>) {
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%count) : tensor<?xi64>
  %lengths = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %next = arith.addi %i, %c1 : index
    %high = tensor.extract %offsets[%next] : tensor<?xi64>
    %low = tensor.extract %offsets[%i] : tensor<?xi64>
    %n = arith.subi %high, %low : i64
    linalg.yield %n : i64
  } -> tensor<?xi64>
  return %lengths : tensor<?xi64>
}
