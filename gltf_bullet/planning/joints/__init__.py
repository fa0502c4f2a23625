"""Jointed bodies as articulations: spanning trees, chains, rows, splits."""
