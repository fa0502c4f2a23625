"""Graphs of KHR_interactivity: read, checked, prepared once and run; free of any engine."""
