"""Graphs of KHR_interactivity in a scene: what they may do to it, and when they act."""
