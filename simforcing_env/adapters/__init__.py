"""Other libraries' interfaces over the batched environments."""
