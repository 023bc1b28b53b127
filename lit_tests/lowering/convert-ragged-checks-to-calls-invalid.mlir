// RUN: ragged-opt %s --verify-diagnostics --convert-ragged-checks-to-calls

// The pass ends the ragged part of the pipeline: nothing ragged may come through it.
// expected-error@unknown {{expected no ragged type or op from here on, got those named above}}
// expected-error@below {{'func.func' op expected no ragged type after the lowering, got tensor<?x?xf32, #ragged.layout<"dr">>}}
func.func @ragged(%x: tensor<?x?xf32, #ragged.layout<"dr">>) {
  return
}
