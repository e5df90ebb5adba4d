"""Late feedback written plainly: a list of open decisions over an agent, looked through before every decision."""

import math


def plain_late_play(policy, problem, checkpoints, rng, feedback):
    """Return the regrets at the checkpoints, the pairs chosen, and the decisions that came after new outcomes."""
    agent = policy.agent(problem.n_rows, problem.n_cols)
    agent.rng = rng
    regrets, pairs, open_decisions, regret, with_news = [], [], [], 0.0, 0
    for step in range(checkpoints[-1]):
        due_now = sorted((entry for entry in open_decisions if entry[0] < step), key=lambda entry: entry[:2])
        open_decisions = [entry for entry in open_decisions if entry[0] >= step]
        for _, _, decision, reward in due_now:
            agent.tell(decision, reward)
        with_news += any(not decision.filler for _, _, decision, _ in due_now)
        decision = agent.ask()
        pairs.append((decision.row, decision.col))
        mean = problem.means[decision.row, decision.col]
        regret += problem.best_mean - mean
        reward = int(rng.random() < mean)
        due = step + feedback.steps
        if feedback.mean > 0:
            survival = feedback.mean / (1 + feedback.mean)
            due += math.floor(math.log(1 - rng.random()) / math.log(survival))
        while (due + 1) % feedback.size:  # to the end of its batch
            due += 1
        open_decisions.append((due, step, decision, reward))
        if step + 1 in checkpoints:
            regrets.append(regret)
    return regrets, pairs, with_news
