"""`transect mitigate`: train a model with less leakage, and measure what it costs."""
