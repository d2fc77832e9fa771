"""What images look like to a network: features, perceptual distance, and how near two sets of images are."""
