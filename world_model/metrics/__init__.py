"""Measures of pictures, poses and probabilities, as pure functions."""
