"""Numbers only; nothing here knows problems or policies.

* Probability: `kl` (Bernoulli KL and its inverse), `betas/`, `mixture`, `power_law`, `student`, `seeds`.
* The largest of many: `betas/beta_maximum` (of very many Beta draws), `structures/tournament` (of values that change
  one at a time).
* Tables for compiled code: `structures/hash_tables`, `structures/heap` (what is due first).
"""
