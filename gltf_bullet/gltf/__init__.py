"""Room 2: bytes to typed, dialect-free content."""
