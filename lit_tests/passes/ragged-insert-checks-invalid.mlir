// RUN: ragged-opt %s --ragged-insert-checks --split-input-file --verify-diagnostics

// Control flow between blocks is lowered later; checks have no single entry here.
// expected-error@+1 {{expected a function of 1 block, got 2}}
func.func @blocks(%v: tensor<?xf32>, %o: tensor<?xi64>) {
  cf.br ^next
^next:
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// The sum is ragged once the layout is inferred; before, nothing says that it needs a check.
func.func @annotated(%x: tensor<3x?xf32, #ragged.layout<"dr">>) {
  // expected-error@+1 {{expected layouts to be inferred, got ragged.annotate (run ragged-infer-layouts first)}}
  %a = ragged.annotate %x : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32>
  %s = arith.addf %a, %a : tensor<3x?xf32>
  return
}

// -----

// All indices are checked before any score is there.
!q = tensor<3x?x4x16xf32, #ragged.layout<"dr|d|d">>
!lse = tensor<3x?x4xf32, #ragged.layout<"dr|d">>
func.func @of_scores(%table: tensor<?xf32>, %q: !q) {
  // expected-error@+1 {{expected indices that no score is made of, got one of scores}}
  %o, %lse = ragged.attention %q, %q, %q ({
  ^bb0(%score: f32, %component: index, %head: index, %query: index, %key: index):
    %whole = arith.fptosi %score : f32 to i64
    %place = arith.index_cast %whole : i64 to index
    %more = tensor.extract %table[%place] : tensor<?xf32>
    ragged.yield %more : (f32) -> ()
  }) {scale = 2.500000e-01} : (!q, !q, !q) -> (!q, !lse)
  return
}

// -----

// Rows of a tensor in a body are checked by nobody.
func.func @rows(%x: tensor<?xindex>, %w: tensor<3x4xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xf32>) {
  ^bb0(%i: index, %o: f32):
    // expected-error@+1 {{expected in a body no op on tensors but tensor.extract and tensor.insert, got 'tensor.extract_slice'}}
    %s = tensor.extract_slice %w[%i, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %v = tensor.extract %s[%c0] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// The places of a search are known to the loop alone.
func.func @search(%x: tensor<?xindex>, %w: tensor<?xindex>, %e: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xindex>) {
  ^bb0(%i: index, %o: index):
    %found = scf.for %k = %c0 to %c9 step %c1 iter_args(%at = %i) -> (index) {
      // expected-error@+1 {{expected checks in scf.if and scf.for in a body, of what no loop carries, got 'tensor.extract' in 'scf.for'}}
      %next = tensor.extract %w[%at] : tensor<?xindex>
      scf.yield %next : index
    }
    linalg.yield %found : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}

// -----

// The state of an automaton is known to the reduction alone.
func.func @automaton(%x: tensor<?xindex>, %next: tensor<4x2xindex>, %s: tensor<index>) -> tensor<index> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xindex>) outs(%s : tensor<index>) {
  ^bb0(%i: index, %state: index):
    // expected-error@+1 {{expected checks of what no reduction makes, got 'tensor.extract' of the sum so far}}
    %n = tensor.extract %next[%state, %i] : tensor<4x2xindex>
    linalg.yield %n : index
  } -> tensor<index>
  return %0 : tensor<index>
}

// -----

// Neither are conditions on what a reduction has so far, nor bounds that a loop carries.
func.func @while_positive(%w: tensor<?xf32>, %i: index, %x: tensor<?xf32>, %s: tensor<f32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %p = arith.cmpf ogt, %sum, %z : f32
    %v = scf.if %p -> (f32) {
      // expected-error@+1 {{expected checks of what no reduction makes, got 'tensor.extract' of the sum so far}}
      %e = tensor.extract %w[%i] : tensor<?xf32>
      scf.yield %e : f32
    } else {
      scf.yield %a : f32
    }
    linalg.yield %v : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @growing(%w: tensor<?xindex>, %x: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : tensor<?xindex>) {
  ^bb0(%a: index):
    %found = scf.for %k = %c0 to %c2 step %c1 iter_args(%bound = %a) -> (index) {
      %sum = scf.for %j = %c0 to %bound step %c1 iter_args(%s = %c0) -> (index) {
        // expected-error@+1 {{expected checks in scf.if and scf.for in a body, of what no loop carries, got 'tensor.extract' in 'scf.for'}}
        %e = tensor.extract %w[%j] : tensor<?xindex>
        %t = arith.addi %s, %e : index
        scf.yield %t : index
      }
      scf.yield %sum : index
    }
    linalg.yield %found : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}
