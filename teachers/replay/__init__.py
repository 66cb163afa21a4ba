"""A real robot's log, rendered beside its video: pairs from real data."""
