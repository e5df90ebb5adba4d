"""Evidence that holds however often one looks: who beats whom, what has changed, what acts together, and what
a live experiment mixes into its decisions to find out.
"""
