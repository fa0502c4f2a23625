"""Contacts of links in the engine: collision bits, friction, restitution, contact points."""
