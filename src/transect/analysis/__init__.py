"""A finished run: from its tables to findings, sections and the report."""
