"""What an experiment knows: the fold of its journal, snapshots of it, and how it is read and kept."""
