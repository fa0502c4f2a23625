"""What ``python -m tools.bench`` measures."""
