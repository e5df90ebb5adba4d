"""Numbers only; nothing here knows problems or policies.

* Probability: `kl` (Bernoulli KL and its inverse), `beta`, `mixture`, `power_law`, `seeds`.
* The largest of many: `beta_maximum` on `rekeyable_table` (of very many Beta draws), `tournament` (of values that
  change one at a time).
* Tables for compiled code: `heap` (what is due first), `hash_table` (numbers what it meets, only grows),
  `rekeyable_table` (a hash table whose keys change).
"""
