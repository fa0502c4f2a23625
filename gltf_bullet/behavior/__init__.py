"""Graphs of KHR_interactivity: read, checked, prepared once and run, without any engine."""
