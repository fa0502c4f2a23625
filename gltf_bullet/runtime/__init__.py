"""Room 6: scenes in a running world, their steps, states, views and recordings."""
