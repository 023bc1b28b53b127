// RUN: ragged-opt %s --split-input-file --verify-diagnostics --convert-ragged-checks-to-calls

// The pass ends the ragged part of the pipeline: nothing ragged may come through it.
// expected-error@unknown {{expected what can be bufferized, got the above}}
// expected-error@below {{'func.func' op expected no ragged type after the lowering, got tensor<?x?xf32, #ragged.layout<"dr">>}}
func.func @ragged(%x: tensor<?x?xf32, #ragged.layout<"dr">>) {
  return
}

// -----

// Bufferization takes for granted that there are buffers of every type. A type is named where it appears first.
// expected-error@unknown {{expected what can be bufferized, got the above}}
// expected-error@below {{'func.func' op expected elements that memory holds, got tensor<?x!llvm.ptr>}}
func.func private @pointers(tensor<?x!llvm.ptr>)

func.func @tokens(%t: tensor<?x!llvm.ptr>) {
  // expected-error@below {{'tensor.empty' op expected elements that memory holds, got tensor<3x!torch.int>}}
  %0 = tensor.empty() : tensor<3x!torch.int>
  return
}

// -----

// A declaration, too.
// expected-error@unknown {{expected what can be bufferized, got the above}}
// expected-error@below {{'func.func' op expected no ragged type after the lowering, got tensor<?x?xf32, #ragged.layout<"dr">>}}
func.func private @declared(tensor<?x?xf32, #ragged.layout<"dr">>)

// -----

func.func @left(%x: tensor<?xf32>, %o: tensor<4xi64>) {
  // expected-error@unknown {{expected what can be bufferized, got the above}}
  // expected-error@below {{'ragged.partition' op expected no op of the ragged dialect after the lowering}}
  %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  // expected-error@below {{'math.exp' op expected no ragged type after the lowering, got tensor<3x?xf32, #ragged.layout<"dr">>}}
  %1 = math.exp %0 : tensor<3x?xf32, #ragged.layout<"dr">>
  return
}

// -----

// expected-error@below {{expected another name than 'ragged_report', which programs have for themselves}}
func.func private @ragged_report(i32) -> i32

// -----

// What is in a parallel loop becomes a kernel, which calls nothing.
func.func @parallel(%i: index, %n: index, %c: i1) {
  // expected-error@below {{expected checks in func.call, scf.if, scf.for, scf.while only, got one in 'scf.forall'}}
  scf.forall (%k) in (%n) {
    scf.if %c {
      ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
    }
  }
  return
}

// -----

// Nor does it call functions that check something, or that call such.
func.func private @checks(%k: index, %n: index) {
  ragged.assert_valid %k, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  return
}

func.func private @calls(%k: index, %n: index) {
  func.call @checks(%k, %n) : (index, index) -> ()
  return
}

func.func @parallel(%n: index) {
  // expected-error@below {{expected checks in func.call, scf.if, scf.for, scf.while only, got one in 'scf.forall'}}
  scf.forall (%k) in (%n) {
    func.call @calls(%k, %n) : (index, index) -> ()
  }
  return
}

// -----

// Nor functions that may be such.
func.func @checks(%k: index, %n: index) {
  ragged.assert_valid %k, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
  return
}

func.func @indirect(%n: index, %function: (index, index) -> ()) {
  // expected-error@below {{expected checks in func.call, scf.if, scf.for, scf.while only, got one in 'scf.forall'}}
  scf.forall (%k) in (%n) {
    func.call_indirect %function(%k, %n) : (index, index) -> ()
  }
  return
}

// -----

// No pass sees functions of a module in a module.
func.func private @outer()

// expected-error@below {{expected functions in one module, got a module with some in it}}
module @inner {
  func.func private @f()
}
