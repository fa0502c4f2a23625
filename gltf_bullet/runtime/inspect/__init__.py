"""Descriptions of a file's planned scene as JSON-ready rows; no engine is needed."""
