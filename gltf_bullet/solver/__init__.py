"""Joint forces from arrays: dynamics, limits, drives and contacts of articulations."""
