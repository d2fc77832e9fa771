"""What commands share: options that several take, and tables on the terminal."""
