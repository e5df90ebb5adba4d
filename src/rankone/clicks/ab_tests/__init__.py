"""Many past A/B tests at once: does what was tested together act as a product?"""
