"""Policies: what plans and evaluations run, whatever made it."""
