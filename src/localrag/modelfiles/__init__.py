"""A model by name -> which files, are they the ones that were pinned, and how are they opened?"""
