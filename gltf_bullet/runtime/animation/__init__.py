"""The animations of a file at work: players, animated nodes, shapes that change."""
