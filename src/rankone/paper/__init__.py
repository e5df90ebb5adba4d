"""The paper's figures and theory, reproduced from simulation, with each claim judged by its measured figure."""
