"""The proving ground with images: a model's true causal effects beside what observation, adjustment, experiment say."""
