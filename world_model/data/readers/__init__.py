"""Readers of other people's recordings: one file for each layout, all of which give episodes under a contract."""
