"""Open models as `save_pretrained` writes them: classifiers, labels in words, detectors, embeddings."""
