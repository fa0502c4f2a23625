"""Room 4: one module per extension family, JSON to model."""
