"""Models that answer in words, asked questions about images."""
