"""Models that answer in words behind chat interfaces: described by a TOML file, metered, with every answer kept.

`speaker` asks, `settings` reads the file, `tokens` says how many a call can take at most, `reading` tells answers from
faults. One module for each interface makes the request (`message`) and reads the answer (`spoken`), both pure.
"""
