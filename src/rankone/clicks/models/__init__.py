"""Click models. One model is one file of this folder; defining its class is all the registration."""
