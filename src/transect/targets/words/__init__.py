"""Models that answer in words, and the questions that they are asked."""
