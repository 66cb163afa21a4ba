"""The ``simforcing`` command: one file per subcommand, found through the registry and imported when chosen."""
