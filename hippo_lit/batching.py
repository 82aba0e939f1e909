"""Extraction by a provider's batch jobs: at a lower price, within a day, across any number of runs.

What is guaranteed:

- Each request is noted in the ledger before it leaves, and is not sent again as long as its job may answer.
- After a crash at any instant, the next run goes on: a job that was not sent is withdrawn; where it is not
  known whether the provider made a job of an uploaded file, the provider is asked, and the job is adopted
  or made. So a request is paid for once, provided that the provider lists every job it has made.
- Answers are committed to the cache of replies before their job is done with. A crash between only means
  that they are fetched again, which costs nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hippo_lit.errors import ChatModelError
from hippo_lit.extraction import Extracted, ExtractionRun, Progress, silent
from hippo_lit.llm.parallel import pause
from hippo_lit.models.awaiting import AwaitingChat, Request
from hippo_lit.models.batch_api import Batch, BatchApi, split
from hippo_lit.models.chat_cache import CUT_OFF, CachedChat
from hippo_lit.models.guard import Guard, Price
from hippo_lit.models.usage import count
from hippo_lit.protocols import ChatModel, FactExtractor
from hippo_lit.storage.batches import BatchLedger, Job
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Passage, Reply

FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0
_LOST_S = 48 * 3600.0  # twice the longest that a job may take
_CLOCKS_S = 3600.0  # what the provider's clock may differ
_PROBES = 3
_POLLS = 20  # in a row that may fail
_CUT_OFF = Reply("{", "length")


@dataclass(slots=True)
class BatchRun:
    """`Extracting` by batch jobs: collects what was answered, submits what nobody was asked yet.

    The first request of a run that submits is made online, so that a wrong key, an unknown model or a
    parameter that the model does not take shows now and not in a day. With `wait` the run polls until no
    job is out, at intervals that grow from FIRST_WAIT_S to LONGEST_WAIT_S seconds.

    A job that failed gives its passages the provider's reason; those that an expired or cancelled job did
    not reach are left to the next run; an error line, a line that is missing or cannot be read fails its
    passage; a reply that broke off is asked for again in smaller pieces.
    """

    store: Store
    cached: CachedChat
    extractor_over: Callable[[ChatModel], FactExtractor]
    api: BatchApi
    ledger: BatchLedger
    guard: Guard
    online: ChatModel
    price: Price | None
    wait: bool = False
    progress: Progress = field(default=silent)
    _known: dict[str, Reply | ChatModelError] = field(default_factory=dict)
    _notes: list[str] = field(default_factory=list)
    _probes: int = 0

    def run(self, passages: Sequence[Passage], hashes: Sequence[str]) -> Extracted:
        """One pass over the passages, or with `wait` as many as it takes. Raises StoreError."""
        self._known |= dict.fromkeys(self.ledger.cut_off(), _CUT_OFF)
        new, failed = 0, dict[str, str]()
        done: dict[str, Extraction] = {}
        self._collect()
        while True:
            rest = [(p, h) for p, h in zip(passages, hashes, strict=True) if h not in failed]
            wanted: list[Request] = []
            chat = AwaitingChat(self.cached, wanted.append, self._known)
            run = ExtractionRun(self.store, self.extractor_over(chat), self.progress)
            facts = run.run([p for p, _ in rest], [h for _, h in rest])
            new, failed, done = new + facts.new, failed | dict(facts.failed), dict(facts.done)
            if not self._submit(wanted) and not (self.wait and self._answered()):
                break
        return self._told(replace(facts, done=done, new=new, failed=failed), self._jobs())

    def _answered(self) -> bool:
        """Wait until a job has ended; False where none is out, or nobody can be asked any more."""
        wait_s, failed = FIRST_WAIT_S, 0
        while (jobs := self._jobs()) and failed < _POLLS:
            stopped = self.guard.stopped
            if stopped is not None and stopped.kind != "budget":
                return False
            pause(wait_s)
            wait_s = min(wait_s * 1.5, LONGEST_WAIT_S)
            failed = 0 if self._collect() else failed + 1
            if len(self._jobs()) < len(jobs):
                return True
        return False

    def _jobs(self) -> list[Job]:
        return self.ledger.jobs(self.api.server)

    def _told(self, facts: Extracted, jobs: Sequence[Job]) -> Extracted:
        stopped, awaited = self.guard.stopped, sum(job.requests for job in jobs)
        degraded = facts.degraded or (stopped is not None and stopped.kind != "budget")
        if stopped is not None:
            facts = replace(facts, stopped=stopped.message)
        elif jobs and not facts.degraded:
            ids = ", ".join(job.batch_id or f"{job.file_id} (in doubt)" for job in jobs)
            facts = replace(facts, stopped=f"the replies to {awaited:,} requests are awaited from {ids}")
        return replace(facts, pending=bool(jobs), degraded=degraded, notes=tuple(self._notes))

    # -- collecting

    def _collect(self) -> bool:
        """Take in the answers of every job that has ended; whether each could be looked up."""
        answered = requests = 0
        reached = True
        for job in self._jobs():
            try:
                batch = self._look_up(job)
                if batch is not None and batch.ended:
                    self._take_in(job, batch)
            except ChatModelError as error:
                self._note(f"job {job.batch_id or job.file_id} cannot be looked up: {error.message}")
                reached = False
                if error.kind in ("auth", "quota"):
                    self.guard.stop(error)
                    return False
                continue  # the other jobs may be reached all the same
            if batch is not None:
                requests += job.requests
                answered += job.requests if batch.ended else batch.completed + batch.failed
        if requests:
            self.progress("batch", answered, requests)
        return reached

    def _look_up(self, job: Job) -> Batch | None:
        """The job at the provider, submitted now where it turns out that it was not; None for no job."""
        if job.state == "prepared":
            self.ledger.withdraw(job.token)
            return None
        if job.state == "uploaded":
            batch = self.api.find(job.file_id, job.created - _CLOCKS_S)
            if batch is None:
                return self._create(job.token, job.file_id, job.requests)
            self.ledger.submitted(job.token, batch.id)
            return batch
        try:
            return self.api.retrieve(job.batch_id)
        except ChatModelError as error:
            if error.kind != "not_found" or time.time() - job.created < _LOST_S:
                raise
        self._note(f"the provider does not know job {job.batch_id} any more: its requests may be asked again")
        self.ledger.collected(job.token)
        return None

    def _take_in(self, job: Job, batch: Batch) -> None:
        keys = self.ledger.keys(job.token)
        answers = self.api.answers(batch, keys)
        self.cached.keep(answers.replies)  # committed before the job is done with
        cut_off = {key for key, reply in answers.replies.items() if reply.finish_reason == "length"}
        self.ledger.collected(job.token, cut_off)
        count("extract", answers.usage)
        self._known |= answers.errors
        self._known |= {  # the others are in the cache now
            key: reply for key, reply in answers.replies.items() if reply.finish_reason in CUT_OFF
        }
        parts = f"{len(answers.replies):,} of {len(keys):,} requests answered"
        broken = f", {answers.unreadable:,} lines could not be used" if answers.unreadable else ""
        problem = f": {batch.problem}" if batch.status == "failed" else ""
        self._note(f"job {batch.id} {batch.status}{problem}: {parts}{broken}")

    # -- submitting

    def _submit(self, wanted: Sequence[Request]) -> bool:
        """Send what no job has yet; whether another pass is worth while, since something was answered."""
        live = {key for job in self._jobs() for key in self.ledger.keys(job.token)}
        fresh = [request for request in wanted if request.key not in live]
        if not fresh or self.guard.stopped:
            return False
        if self._probes < _PROBES:
            return self._probe(fresh[0])
        for group in split(self._affordable(fresh)):
            if self.guard.stopped and self.guard.stopped.account_wide:
                return False
            token = secrets.token_hex(8)
            self.ledger.prepare(token, self.api.server, (request.key for request, _ in group))
            try:
                file_id = self.api.upload(f"hippo-lit-{token}.jsonl", [line for _, line in group])
            except ChatModelError as error:
                self.ledger.withdraw(token)
                self.guard.stop(error)
                return False
            self.ledger.uploaded(token, file_id)
            if self._create(token, file_id, len(group)) is None:
                return False
        return False

    def _create(self, token: str, file_id: str, requests: int) -> Batch | None:
        """Have a job made of a file; None, and no further job by this run, where that fails."""
        try:
            batch = self.api.create(file_id, token)
        except ChatModelError as error:
            if error.kind in ("auth", "not_found", "quota", "bad_request", "rate_limit"):
                self.ledger.withdraw(token)  # it was refused, so there is no job
            self.guard.stop(error)
            return None
        self.ledger.submitted(token, batch.id)
        self._note(f"submitted job {batch.id} with {requests:,} requests")
        return batch

    def _probe(self, request: Request) -> bool:
        self._probes += 1
        try:
            self.online.complete(request.messages, schema=request.schema)
        except ChatModelError as error:
            if error.untried:
                self.guard.stop(error)
                return False
            self._known[request.key] = error
            if self._probes >= _PROBES:
                self.guard.stop(error)
        else:
            self._probes = _PROBES
        return True

    def _affordable(self, requests: Sequence[Request]) -> Iterator[tuple[Request, bytes]]:
        for request in requests:
            try:
                self.guard.commit(request.messages, self.price)
            except ChatModelError:
                return
            yield request, self.api.line(request)

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)
