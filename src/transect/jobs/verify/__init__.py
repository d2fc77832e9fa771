"""Checks of Transect against what is known of the outside world: is the world that ships like photographs?"""
