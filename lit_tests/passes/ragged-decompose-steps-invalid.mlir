// RUN: ragged-opt %s --ragged-decompose-steps --split-input-file --verify-diagnostics

// Rows are those of any components that have a step: what depends on others has no meaning.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

func.func @sum(%x: !x, %s: tensor<?xf64>) -> tensor<?xf64> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %zero = arith.constant dense<0.0> : tensor<f64>
    // expected-error@+1 {{expected steps that treat rows apart from each other, got 'linalg.generic'}}
    %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%row : tensor<?xf64>) outs(%zero : tensor<f64>) {
    ^bb0(%a: f64, %sum: f64):
      %more = arith.addf %a, %sum : f64
      linalg.yield %more : f64
    } -> tensor<f64>
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>],
                            iterator_types = ["parallel"]}
        ins(%state, %all : tensor<?xf64>, tensor<f64>) outs(%state : tensor<?xf64>) {
    ^bb0(%a: f64, %b: f64, %out: f64):
      %c = arith.addf %a, %b : f64
      linalg.yield %c : f64
    } -> tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %end : tensor<?xf64>
}

// -----

// The number of a row says where it stands.

!x = tensor<?x?xindex, #ragged.layout<"dr">>

func.func @numbers(%x: !x, %s: tensor<?xindex>) -> tensor<?xindex> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xindex>, %state: tensor<?xindex>):
    // expected-error@+1 {{expected steps that treat rows apart from each other, got 'linalg.generic'}}
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%row : tensor<?xindex>) outs(%state : tensor<?xindex>) {
    ^bb0(%a: index, %out: index):
      %i = linalg.index 0 : index
      %c = arith.addi %a, %i : index
      linalg.yield %c : index
    } -> tensor<?xindex>
    ragged.yield %next : (tensor<?xindex>) -> ()
  }) : (!x, tensor<?xindex>) -> (!x, tensor<?xindex>)
  return %end : tensor<?xindex>
}

// -----

!x = tensor<?x?xf64, #ragged.layout<"dr">>

func.func @others(%x: !x, %s: tensor<?xf64>, %other: tensor<?xf64>) -> tensor<?xf64> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    // expected-error@+1 {{expected steps that yield rows, got values that have none}}
    ragged.yield %other : (tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %end : tensor<?xf64>
}

// -----

// Row 0 for all, in a branch of a loop's body.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

func.func @branch(%x: !x, %s: tensor<?xf64>, %first: i1) -> tensor<?xf64> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    // expected-error@+1 {{expected steps that treat rows apart from each other, got 'linalg.generic'}}
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%state : tensor<?xf64>) outs(%state : tensor<?xf64>) {
    ^bb0(%a: f64, %out: f64):
      %c0 = arith.constant 0 : index
      %b = scf.if %first -> f64 {
        %u = tensor.extract %row[%c0] : tensor<?xf64>
        scf.yield %u : f64
      } else {
        scf.yield %a : f64
      }
      linalg.yield %b : f64
    } -> tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %end : tensor<?xf64>
}

// -----

// How many rows there are.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

func.func @count(%x: !x, %s: tensor<?xf64>, %dim: index) -> tensor<?xf64> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    // expected-error@+1 {{expected steps that treat rows apart from each other, got 'tensor.dim'}}
    %n = tensor.dim %row, %dim : tensor<?xf64>
    %i = arith.index_cast %n : index to i64
    %f = arith.sitofp %i : i64 to f64
    %next = linalg.fill ins(%f : f64) outs(%state : tensor<?xf64>) -> tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %end : tensor<?xf64>
}

// -----

// The number of rows, by way of a loop.

!x = tensor<?x?xf64, #ragged.layout<"dr">>

func.func @carried(%x: !x, %s: tensor<?xf64>, %steps: index) -> tensor<?xf64> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?xf64>, %state: tensor<?xf64>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{expected steps that treat rows apart from each other, got 'scf.for'}}
    %n = scf.for %k = %c0 to %steps step %c1 iter_args(%before_it = %c0) -> (index) {
      %count = tensor.dim %row, %c0 : tensor<?xf64>
      scf.yield %count : index
    }
    %i = arith.index_cast %n : index to i64
    %f = arith.sitofp %i : i64 to f64
    %next = linalg.fill ins(%f : f64) outs(%state : tensor<?xf64>) -> tensor<?xf64>
    ragged.yield %next : (tensor<?xf64>) -> ()
  }) : (!x, tensor<?xf64>) -> (!x, tensor<?xf64>)
  return %end : tensor<?xf64>
}

// -----

// Over all rows, with loops that are parallel.

!x = tensor<?x?x4xf32, #ragged.layout<"dr|d">>

func.func @softmax(%x: !x, %s: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %before, %end = ragged.steps %x, %s ({
  ^bb0(%row: tensor<?x4xf32>, %state: tensor<?x4xf32>):
    // expected-error@+1 {{expected steps that treat rows apart from each other, got 'linalg.softmax'}}
    %next = linalg.softmax dimension(0) ins(%row : tensor<?x4xf32>) outs(%state : tensor<?x4xf32>) -> tensor<?x4xf32>
    ragged.yield %next : (tensor<?x4xf32>) -> ()
  }) : (!x, tensor<?x4xf32>) -> (!x, tensor<?x4xf32>)
  return %end : tensor<?x4xf32>
}
