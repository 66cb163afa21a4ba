"""Two looks of one world: the same actions from the same start, seen as simulation and as reality."""
