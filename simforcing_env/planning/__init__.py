"""Planning: imagine what candidates of actions lead to, and take the best."""
