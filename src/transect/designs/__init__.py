"""Which images are compared: levels of attributes, transects over subjects, populations as sampled."""

from transect.designs.levels import parse_vary
from transect.designs.transects import population_design, transect_design, transect_latents

__all__ = ["parse_vary", "population_design", "transect_design", "transect_latents"]
