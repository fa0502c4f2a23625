"""The animations of a running scene: players, animated nodes, changing shapes."""
