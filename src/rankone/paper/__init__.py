"""The paper's figures, reproduced from simulation, with each claim judged by its measured figure."""
