"""A model behind a web address as a target: described by a TOML file, metered, with every answer kept."""
