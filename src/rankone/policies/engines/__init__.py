"""What several policies share: exact engines, and the skeletons of families of policies."""
