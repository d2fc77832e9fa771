"""Progressive GAN, with or without a condition."""
