"""A model behind a web address as a target: described by a TOML file, metered, with every answer kept.

`target` asks, `settings` reads the file, `ledger` holds calls, money and answers, `transport` and `rekognition` send,
`pacing` says when, `answers` reads what came back. Heavy libraries are imported where they are used.
"""
