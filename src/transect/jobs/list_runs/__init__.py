"""Which runs are in a folder, and what did each find?"""
