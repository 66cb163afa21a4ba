"""Push-T: a round pusher moves a T-shaped block onto a T-shaped goal (gym-pusht's physics)."""
