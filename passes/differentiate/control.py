"""Rules of calls, branches and loops."""
