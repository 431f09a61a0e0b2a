"""How good is the retrieval? Judged queries in, standard measures out."""
