"""The command-line tools: ragged-opt, ragged-run, ragged-translate, ragged-compile."""
