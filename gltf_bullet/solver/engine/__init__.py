"""Kernels that read the engine and tell it, without Python in between."""
