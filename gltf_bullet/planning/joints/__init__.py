"""Jointed bodies as articulations: spanning trees, chains of links, solver rows, splits."""
