"""LIBERO's 130 tasks and robosuite's own as teachers."""
