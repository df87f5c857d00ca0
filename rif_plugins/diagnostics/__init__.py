"""What stands behind the figures of a run: is the victim fit to be audited."""
