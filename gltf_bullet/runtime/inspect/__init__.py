"""What a file would become, as JSON-ready rows; no engine is needed."""
