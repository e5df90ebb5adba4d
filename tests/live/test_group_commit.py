"""Group commit."""

import threading
import time

import pytest

from rankone.live.commit.group_commit import Job, Writer


class Task(Job):
    """A job that is known by what it holds."""

    def __init__(self, what):
        super().__init__()
        self.what, self.result = what, None


class BadTask(Task):
    """One that goes alone and fails."""

    alone = True

    def __init__(self):
        super().__init__("bad")


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
            job.result = job.what + 1
        active.pop()

    writer = Writer(carry_out)
    jobs = [Task(number) for number in range(40)]
    opener = threading.Timer(0.2, gate.set)
    opener.start()
    assert run_all(writer, jobs) == {}
    assert [job.result for job in jobs] == list(range(1, 41))
    assert sum(groups) == 40
    assert max(groups) > 1  # those who came while the first group was at work


def test_a_leader_waits_for_the_callers_of_the_last_group_to_come_back(monkeypatch):
    monkeypatch.setattr("rankone.live.commit.group_commit._LONGEST", 600)
    sizes = []
    writer = Writer(lambda group: sizes.append(len(group)))
    writer._last_size, writer._last_time = 4, 1e6  # a group of four, which took long
    callers = [threading.Thread(target=writer.run, args=(Task(number),)) for number in range(3)]
    for caller in callers:
        assert sizes == []
        caller.start()
    for caller in callers:
        caller.join()
    assert sizes == [3]  # all but one came
    writer._last_size, writer._last_time = 4, 1e-6
    writer.run(Task(0))  # nobody else comes: not for ever
    assert sizes == [3, 1]
    assert (writer._wanted, writer._enough.locked()) == (0, True)


def test_after_a_group_that_took_very_long_nobody_waits_for_its_callers_for_long():
    writer = Writer(lambda group: None)
    writer._last_size, writer._last_time = 4, 1e6  # the database was locked
    caller = threading.Thread(target=writer.run, args=(Task(1),), daemon=True)
    caller.start()
    caller.join(timeout=60)
    assert not caller.is_alive()


def test_a_leader_interrupted_while_it_waits_leaves_the_queue_in_order(monkeypatch):
    class Interrupted:
        """A lock whose waiting is interrupted, as by Ctrl-C."""

        def acquire(self, blocking=True, timeout=-1):
            if blocking:
                raise KeyboardInterrupt

    writer = Writer(lambda group: None)
    writer._last_size, writer._last_time, lock = 4, 1e6, writer._enough
    monkeypatch.setattr(writer, "_enough", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        writer.run(Task(1))
    writer._enough = lock
    assert (writer._busy, writer._waiting, writer._wanted) == (False, [], 0)
    assert writer.run(Task(2)) is None  # the next caller is served


def test_one_that_was_interrupted_and_led_is_not_freed_twice():
    writer = Writer(lambda group: None)
    free, waits = Task(1), Task(2)
    free.ready.release()
    writer._hand_over([free, waits])
    assert not waits.ready.locked()


def test_a_failing_group_fails_for_all_in_it_and_for_nobody_else():
    def carry_out(group):
        time.sleep(0.01)
        if any(job.what == "bad" for job in group):
            raise ValueError("bad")

    writer = Writer(carry_out)
    jobs = [BadTask() if number == 7 else Task(number) for number in range(20)]
    errors = run_all(writer, jobs)
    assert set(errors) == {jobs[7]}
    assert writer.run(Task(1)) is None  # and the writer goes on


def test_an_interrupted_leader_hands_over():
    def carry_out(group):
        raise KeyboardInterrupt

    writer = Writer(carry_out)
    with pytest.raises(KeyboardInterrupt):
        writer.run(Task(1))
    writer._carry_out = lambda group: None
    assert writer.run(Task(2)) is None


def test_an_interruption_ends_its_own_thread_only():
    """Those who waited with the interrupted leader are told that it is not known whether they got in."""
    entered, gate = threading.Event(), threading.Event()

    def carry_out(group):
        if group[0].what == "first":
            entered.set()
            gate.wait()
        else:
            raise KeyboardInterrupt

    writer = Writer(carry_out)
    first = threading.Thread(target=writer.run, args=(Task("first"),))
    first.start()
    entered.wait()
    ends = {}

    def caller(number):
        try:
            writer.run(Task(number))
        except BaseException as error:
            ends[number] = type(error)

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while len(writer._waiting) < 3:
        time.sleep(0.001)
    gate.set()
    for thread in (first, *threads):
        thread.join()
    assert sorted(end.__name__ for end in ends.values()) == ["KeyboardInterrupt", "StorageError", "StorageError"]
