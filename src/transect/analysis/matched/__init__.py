"""Matched images: what is asked, the sample, the methods, and outcomes within pairs."""
