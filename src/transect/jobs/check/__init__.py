"""Is a finished run good enough? Requirements, judged as met, violated or not shown."""
