"""Behavior graphs of KHR_interactivity in a scene: their access to it, and when they run."""
