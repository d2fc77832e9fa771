"""The numbers of a finished run in the forms of other tools: tables, LaTeX, documents, figures, tracking services."""
