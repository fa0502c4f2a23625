"""Room 6: a world in motion."""
