"""The viewer in a browser, by viser (extra ``web``)."""
