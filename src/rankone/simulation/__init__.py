"""What the system does with problems and policies: plays them, in studies that can be trusted and resumed."""
