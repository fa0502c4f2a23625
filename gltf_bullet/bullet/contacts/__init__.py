"""How links meet in the engine: collision bits, friction, restitution, contact points."""
