from __future__ import annotations

from hippo_lit.tune.watch import Step, Watch


def test_trials_are_measurements_on_the_judging_half() -> None:
    steps: list[Step] = []
    watch = Watch(steps.append, judged=10, total=3)
    watch.replied()
    watch.measured(0.9, cases=3)  # a minibatch
    for mean in (0.5, 0.75, 0.25, 0.5):
        watch.measured(mean, cases=10)
    assert steps == [Step(1, 3, 0.5), Step(2, 3, 0.75), Step(3, 3, 0.75), Step(3, 3, 0.75)]


def test_by_reply() -> None:
    steps: list[Step] = []
    watch = Watch(steps.append, judged=2, total=4, by_reply=True)
    watch.replied()
    watch.replied()
    watch.measured(0.5, cases=2)
    watch.replied()
    assert steps == [Step(1, 4, None), Step(2, 4, None), Step(3, 4, 0.5)]
