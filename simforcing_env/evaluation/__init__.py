"""How generated frames are held against the truth: instruments, baselines, reports. Imports nothing heavy by itself."""
