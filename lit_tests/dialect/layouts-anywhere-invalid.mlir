// RUN: ragged-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Layouts that are none are refused where no op shows them: in aliases without a use,

// expected-error@+1 {{expected letters d, r, w, t in layout "zz", got 'z'}}
#a = #ragged.layout<"zz">
func.func @f() { return }

// -----

// in what locations carry,

// expected-error@+1 {{expected letters d, r, w, t in layout "zz", got 'z'}}
func.func @f() { return } loc(fused<#ragged.layout<"zz">>["x"])

// -----

// expected-error@+1 {{expected letters d, r, w, t in layout "zz", got 'z'}}
func.func @f(%a: i32 loc(fused<#ragged.layout<"zz">>["x"])) { return }

// -----

// and in attributes of other dialects; comments and strings may hold anything: #ragged.layout<"zz">.

// expected-error@+1 {{expected letters d, r, w, t in layout "zz", got 'z'}}
module attributes {x.note = "#ragged.layout<\22zz\22>", dlti.dl_spec = #dlti.dl_spec<"a" = #ragged.layout<"zz">>} {}
