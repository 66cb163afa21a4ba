"""Checks of a machine, a data set or a checkpoint; each finding says what is wrong and what to do."""
