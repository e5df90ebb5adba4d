"""Log formats. One format is one file of this folder; defining its class is all the registration."""
