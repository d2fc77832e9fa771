"""Images as a network sees them: features, perceptual distance, and how near two sets of images are."""
