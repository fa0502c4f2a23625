"""All operations, each declared once: sockets, types, function."""
