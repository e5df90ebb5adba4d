"""How long will it take? Plans, and experiments simulated from the first visitor to the verdict."""
