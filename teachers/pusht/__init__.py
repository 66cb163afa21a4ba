"""Push-T: a round pusher moves a T-shaped block onto a T-shaped goal (gym-pusht's physics)."""

import os

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame prints an advertisement on import
