// RUN: ragged-opt %s --split-input-file --verify-diagnostics --convert-ragged-checks-to-scf

// The pass ends the ragged part of the pipeline: nothing ragged may come through it.
// expected-error@unknown {{expected no ragged type or op from here on, got those named above}}
// expected-error@below {{'func.func' op expected no ragged type after the lowering, got tensor<?x?xf32, #ragged.layout<"dr">>}}
func.func @ragged(%x: tensor<?x?xf32, #ragged.layout<"dr">>) {
  return
}

// -----

// A status comes out of the regions of these ops only.
func.func @elsewhere(%i: index, %n: index) {
  // expected-error@below {{expected checks in func.call, scf.if, scf.for, scf.while only, got one in 'scf.execute_region'}}
  scf.execute_region {
    ragged.assert_valid %i, %n {kind = "index", op = "ragged.select", level = 0} : (index, index) -> ()
    scf.yield
  }
  return
}
