"""Scripted experts for LIBERO: privileged behaviours that do its tasks, well or badly on purpose."""
