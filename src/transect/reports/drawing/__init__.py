"""The one drawing engine: `scales` and `svg` (axes and marks), and the figures that are made of them.

`forest` (effects), `levels` and `crossed` (rates by level), `intersections` (tables with shading) and `sections` (the
figures of any analysis) turn records into positions; `svg` turns positions into SVG with a title, a description and
colors that follow light and dark.
"""
