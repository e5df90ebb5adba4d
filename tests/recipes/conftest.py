"""These files belong into the package: imported here, they would register their names among those that are tested."""

collect_ignore_glob = ["my_*.py"]
