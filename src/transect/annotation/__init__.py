"""People rate images: questions, the server they answer on, what they agree on, and other services' formats."""
