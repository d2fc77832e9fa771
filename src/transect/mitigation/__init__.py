"""What lessens leakage, and what it costs: adversarial training, erasure, baselines, constrained inference."""
