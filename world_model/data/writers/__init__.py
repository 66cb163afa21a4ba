"""Writers of other people's layouts: what is read from one can be written in another, as far as that holds it."""
