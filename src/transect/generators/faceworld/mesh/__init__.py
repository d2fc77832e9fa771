"""The head as a mesh: its stored data, its shape and pose, hair as strands, what is worn, light and the z-buffer."""
