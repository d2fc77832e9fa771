"""`transect readings`: pose, background and light of photographs."""
