// RUN: ragged-opt %s --split-input-file --verify-diagnostics

// What kernels are made of goes from 0 by 1 and carries nothing.

func.func @step(%x: memref<?xf32>, %n: index, %a: f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{expected ragged.parallel alone on an scf.for over indices from 0 by 1 without results, got another}}
  scf.for %i = %c0 to %n step %c2 {
    memref.store %a, %x[%i] : memref<?xf32>
  } {ragged.parallel}
  return
}

// -----

func.func @start(%x: memref<?xf32>, %m: index, %n: index, %a: f32) {
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{expected ragged.parallel alone on an scf.for over indices from 0 by 1 without results, got another}}
  scf.for %i = %m to %n step %c1 {
    memref.store %a, %x[%i] : memref<?xf32>
  } {ragged.parallel}
  return
}

// -----

func.func @results(%x: tensor<?xf32>, %n: index, %a: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{expected ragged.parallel alone on an scf.for over indices from 0 by 1 without results, got another}}
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> f32 {
    scf.yield %b : f32
  } {ragged.parallel}
  return %0 : f32
}

// -----

func.func @elsewhere(%a: f32) -> f32 {
  // expected-error@+1 {{expected ragged.parallel alone on an scf.for over indices from 0 by 1 without results, got another}}
  %0 = arith.addf %a, %a {ragged.parallel} : f32
  return %0 : f32
}

// -----

func.func @integers(%x: memref<?xf32>, %n: i32, %a: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error@+1 {{expected ragged.parallel alone on an scf.for over indices from 0 by 1 without results, got another}}
  scf.for %i = %c0 to %n step %c1 : i32 {
    %k = arith.index_cast %i : i32 to index
    memref.store %a, %x[%k] : memref<?xf32>
  } {ragged.parallel}
  return
}

// -----

func.func @unit(%x: memref<?xf32>, %n: index, %a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{expected ragged.parallel alone on an scf.for over indices from 0 by 1 without results, got another}}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %a, %x[%i] : memref<?xf32>
  } {ragged.parallel = false}
  return
}
