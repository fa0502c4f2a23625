"""The parts of ``tools/fuzz.py``: mutations, trials, forked children."""
