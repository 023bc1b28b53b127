"""What programs on a CPU call: memory and threads, as text of the LLVM dialect."""
