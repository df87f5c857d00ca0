"""The `rif` command line: one file a sub-command, dispatched by `rif_plugins.cli.main`."""
