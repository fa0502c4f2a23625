"""What became of the last step: what others did, what it missed, what it may not have thrown."""
