"""`transect match`: matched pairs of photographs."""
