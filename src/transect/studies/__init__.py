"""Study files: a published protocol as a chain of commands, run step by step, with pauses for people."""
