"""What is set on the face of a photograph: color of skin, hair and lips, and what is worn. All of it is composited."""
