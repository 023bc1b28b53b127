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

// A loop of no known kind.
func.func @until(%x: tensor<?xindex>, %w: tensor<?xindex>, %e: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xindex>) {
  ^bb0(%i: index, %o: index):
    %found = scf.while (%at = %i) : (index) -> (index) {
      // expected-error@+1 {{expected checks in scf.if and scf.for in a body, got 'tensor.extract' in 'scf.while'}}
      %next = tensor.extract %w[%at] : tensor<?xindex>
      %more = arith.cmpi ne, %next, %c0 : index
      scf.condition(%more) %next : index
    } do {
    ^bb0(%next: index):
      scf.yield %next : index
    }
    linalg.yield %found : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}

// -----

// Results of other loops each.
func.func @sums(%x: tensor<4x4xindex>, %w: tensor<?xindex>, %a: tensor<4xindex>, %b: tensor<index>) -> (tensor<4xindex>, tensor<index>) {
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4x4xindex>) outs(%a, %b : tensor<4xindex>, tensor<index>) {
  ^bb0(%e: index, %one: index, %all: index):
    // expected-error@+1 {{expected results with the same loops where 'tensor.extract' is of the sums so far}}
    %next = tensor.extract %w[%one] : tensor<?xindex>
    %sum = arith.addi %all, %e : index
    linalg.yield %next, %sum : index, index
  } -> (tensor<4xindex>, tensor<index>)
  return %0#0, %0#1 : tensor<4xindex>, tensor<index>
}

// -----

// A loop that might not end on what stands for what is outside.
func.func @down(%x: tensor<?xindex>, %w: tensor<?xindex>, %e: tensor<?xindex>) -> tensor<?xindex> {
  %c1 = arith.constant 1 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xindex>) {
  ^bb0(%i: index, %o: index):
    %first = tensor.extract %w[%i] : tensor<?xindex>
    // expected-error@+1 {{expected places that no 'scf.while' makes where others are of what was read}}
    %found = scf.while (%at = %first) : (index) -> (index) {
      %more = arith.cmpi ne, %at, %c1 : index
      scf.condition(%more) %at : index
    } do {
    ^bb0(%at: index):
      %next = arith.subi %at, %c1 : index
      scf.yield %next : index
    }
    %last = tensor.extract %w[%found] : tensor<?xindex>
    linalg.yield %last : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}

// -----

func.func @cast(%x: tensor<?xindex>, %w: tensor<?xindex>, %e: tensor<?xindex>) -> tensor<?xindex> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xindex>) {
  ^bb0(%i: index, %o: index):
    // expected-error@+1 {{expected in a body no 'tensor.cast' to extents that only calls know, got one of tensor<?xindex> to tensor<3xindex>}}
    %t = tensor.cast %w : tensor<?xindex> to tensor<3xindex>
    %v = tensor.extract %t[%i] : tensor<3xindex>
    linalg.yield %v : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}

// -----

// Whether a tensor without a rank has the extents that it is taken to have nothing here can ask.
func.func @unranked(%x: tensor<*xf32>) -> tensor<4x?xf32> {
  // expected-error@+1 {{expected a cast of a tensor of known rank, got one of tensor<*xf32> to tensor<4x?xf32>}}
  %0 = tensor.cast %x : tensor<*xf32> to tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}
