"""The joint-space solve, compiled: arrays in, joint forces out. The only room that uses Numba."""
