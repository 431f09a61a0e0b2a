"""A query and a passage -> how well the one answers the other? Every reranker behind one protocol."""
