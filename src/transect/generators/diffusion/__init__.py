"""Diffusion pipelines as generators: prompts, or edits of photographs, set the attributes."""
