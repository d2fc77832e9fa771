"""Models that answer in words behind chat interfaces: described by a TOML file, metered, with every answer kept."""
