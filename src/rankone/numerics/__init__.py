"""Numbers only; nothing here knows problems or policies.

* Probability: `kl` (Bernoulli KL and its inverse), `beta`, `mixture`, `power_law`, `seeds`.
* Compiling: `compiled` (the kinds of kernels and their cache on disk), `dispatch` (kernels by class of state).
* The exact engines behind policies: `index_race` on `index_groups` (the largest of very many indices), `beta_maximum`
  on `chains` (the largest of very many Beta draws), `tournament` (the largest of values that change one at a time).
* Tables for compiled code: `calendar` (what is due first), `hash_table` (numbers what it meets, only grows), `chains`
  (a hash table whose keys change).
"""
