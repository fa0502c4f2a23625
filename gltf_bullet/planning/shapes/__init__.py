"""The model's shapes as engine shapes: exact, approximated or refused."""
