"""The same policies from the same starts in the learned environment and in its teacher, and what that says."""
