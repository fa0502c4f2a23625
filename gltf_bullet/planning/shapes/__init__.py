"""Engine shapes from the model's shapes: exact, approximated or refused."""
