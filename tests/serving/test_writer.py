"""Group commit."""

import threading
import time

import pytest

from rankone.serving.writer import Job, Writer


def run_all(writer, jobs):
    """Run jobs from one thread each; return the errors by job."""
    errors = {}

    def caller(job):
        try:
            writer.run(job)
        except Exception as error:
            errors[job] = error

    threads = [threading.Thread(target=caller, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_jobs_that_wait_together_go_together_and_never_two_groups_at_once():
    groups, active, gate = [], [], threading.Event()

    def carry_out(group):
        active.append(1)
        assert len(active) == 1
        if not groups:
            gate.wait()
        groups.append(len(group))
        for job in group:
            job.result = job.do + 1
        active.pop()

    writer = Writer(carry_out)
    jobs = [Job(None, number) for number in range(40)]
    opener = threading.Timer(0.2, gate.set)
    opener.start()
    assert run_all(writer, jobs) == {}
    assert [job.result for job in jobs] == list(range(1, 41))
    assert sum(groups) == 40
    assert max(groups) > 1  # those who came while the first group was at work


def test_a_failing_group_fails_for_all_in_it_and_for_nobody_else():
    def carry_out(group):
        time.sleep(0.01)
        if any(job.do == "bad" for job in group):
            raise ValueError("bad")

    writer = Writer(carry_out)
    jobs = [Job(None, "bad" if number == 7 else number, alone=number == 7) for number in range(20)]
    errors = run_all(writer, jobs)
    assert set(errors) == {jobs[7]}
    assert writer.run(Job(None, 1)) is None  # and the writer goes on


def test_an_interrupted_leader_hands_over():
    def carry_out(group):
        raise KeyboardInterrupt

    writer = Writer(carry_out)
    with pytest.raises(KeyboardInterrupt):
        writer.run(Job(None, 1))
    writer._carry_out = lambda group: None
    assert writer.run(Job(None, 2)) is None
