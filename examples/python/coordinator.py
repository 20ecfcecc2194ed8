"""The parent: hands each file of the folders to a worker, and gathers the reports into one table.

    python coordinator.py FOLDER... [--server 127.0.0.1:7420] [--check]

It is an agent like any other. Its thread is woken by its task and then by reports; between turns
nothing of it runs. What it knows is in its mailbox: the task, and what came of each handoff. So a
coordinator that is killed is simply started again by its next turn, wherever that is, and finds the
handoffs it made by their idempotency keys.
"""

import argparse
import difflib
import sys
import time
from pathlib import Path

import analysis
from agents import ANALYST, COORDINATOR, put_agents
from handoff_client import (
    Client,
    handoff_pb2,
    handoff_service_pb2,
    log,
    mail_pb2,
    mailbox_service_pb2,
    new_request_id,
    status_service_pb2,
    thread_service_pb2,
    turn_pb2,
)
from runtime import Runtime, plain, struct

# Handoffs unfinished at once: enough for any number of workers here, and a bound on what waits.
WINDOW = 32


class Job:
    """What a thread of the coordinator was told so far."""

    def __init__(self):
        self.run, self.base, self.files = None, None, []
        self.handoffs = {}  # by file
        self.ends = {}  # message that told the end, by handoff

    @classmethod
    def of(cls, client, thread_id):
        """Gathers it from the mailbox."""
        job = cls()
        request = mailbox_service_pb2.ListMailRequest(thread_id=thread_id, page_size=500)
        while True:
            page = client.call(client.mailbox.ListMail, request)
            for message in page.messages:
                job.take(message)
            if not page.next_page_token:
                return job
            request.page_token = page.next_page_token

    def take(self, message):
        """Takes a message in; one that is known already changes nothing."""
        task = plain(message.data)
        if message.kind == mail_pb2.MESSAGE_KIND_NOTE and "files" in task:
            self.run, self.base, self.files = task["run"], task["base"], task["files"]
        elif message.HasField("outcome") and message.handoff_id:
            # A REPORT, or the server's NOTICE of an end that is none.
            self.ends.setdefault(message.handoff_id, message)

    def unfinished(self):
        """How many handoffs have not ended."""
        return sum(handoff_id not in self.ends for handoff_id in self.handoffs.values())

    def next_file(self):
        """A file that was not handed out yet, or None."""
        return next((file for file in self.files if file not in self.handoffs), None)

    def findings(self):
        """Findings by file, and the files without, with the reason."""
        found, failed = {}, {}
        for file, handoff_id in self.handoffs.items():
            end = self.ends[handoff_id]
            if end.outcome == handoff_pb2.OUTCOME_SUCCEEDED:
                found[file] = plain(end.data)
            else:
                failed[file] = end.body
        return found, failed


class Coordinator:
    """Runs the threads of the agent, and waits for one of them."""

    def __init__(self, runtime):
        self.runtime, self.client = runtime, runtime.client
        self.jobs = {}
        self.awaited = None
        self.result = None

    def begin(self, folders):
        """Makes a thread and gives it its task; the mail wakes it."""
        files = analysis.files_of(folders)
        request = thread_service_pb2.CreateThreadRequest(
            agent_id=COORDINATOR, title="Analyse files", request_id=new_request_id()
        )
        thread = self.client.call(self.client.threads.CreateThread, request).thread
        self.awaited = thread.thread_id
        # The thread's id names the run: the same files are new work in the next one.
        task = {"run": thread.thread_id, "base": str(Path.cwd()), "files": files}
        request = mailbox_service_pb2.SendMessageRequest(
            to_thread_id=thread.thread_id,
            body=f"Have {len(files)} files analysed: {', '.join(folders)}",
            data=struct(task),
            request_id=new_request_id(),
        )
        self.client.call(self.client.mailbox.SendMessage, request)
        log(COORDINATOR, f"{thread.thread_id}: {len(files)} files")

    def turn(self, held):
        """One turn: read, hand out what fits, and go on when there is more mail."""
        thread_id = held.turn.thread_id
        job = self.jobs.get(thread_id)
        if job is None:
            job = self.jobs[thread_id] = Job.of(self.client, thread_id)
        for message in held.mail():
            job.take(message)
        while job.unfinished() < WINDOW and (file := job.next_file()) is not None:
            job.handoffs[file] = self.hand_out(held, job, file)
        if job.unfinished():
            held.finish(next=turn_pb2.TURN_NEXT_WAIT)
            return
        found, failed = job.findings()
        held.finish(
            next=turn_pb2.TURN_NEXT_FINISHED,
            response_text=f"{len(found)} files analysed, {len(failed)} failed.",
        )
        if thread_id == self.awaited:
            self.result = found, failed
            self.runtime.stop()

    def hand_out(self, held, job, file):
        """Hands one file to the analyst, or finds that it was."""
        request = handoff_service_pb2.CreateHandoffRequest(
            turn=held.ref,
            target_agent=ANALYST,
            task=f"Analyse the file {file}: lines, words, longest line, most frequent terms.",
            thread_title=file[:200],
            context_data=struct({"file": file, "path": str(Path(job.base, file))}),
            idempotency_key=f"{job.run}/{file}",
            request_id=new_request_id(),
        )
        answer = held.call(self.client.handoffs.CreateHandoff, request)
        return answer.handoff.handoff_id


def check(given, table, thread_id):
    """Compares the table with one made from the files themselves, and looks for what is left over."""
    expected = analysis.direct_table(given.folders)
    lines = difflib.unified_diff(expected.splitlines(), table.splitlines(), "files", "reports", n=0)
    for line in lines:
        log(COORDINATOR, line)
    client = Client(given.server, given.namespace)
    request = status_service_pb2.ListHandoffsRequest(parent_thread_id=thread_id)
    left = client.call(client.status.ListHandoffs, request).handoffs
    for handoff in left:
        log(COORDINATOR, f"{handoff.handoff_id} is still open")
    if table != expected or left:
        return 1
    log(COORDINATOR, "the table agrees with the files, and no handoff is left open")
    return 0


def main():
    """Prints the table; the exit code tells whether it is whole and, if asked, right."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folders", nargs="+", metavar="FOLDER")
    options.add_argument("--server", default="127.0.0.1:7420", help="address of handoffd")
    options.add_argument("--namespace", default="default")
    options.add_argument("--name", default="coordinator", help="name of the runtime")
    options.add_argument("--check", action="store_true", help="compare with the files themselves")
    given = options.parse_args()
    runtime = Runtime.connect(given.server, given.namespace, given.name)
    runtime.stop_on_signals()
    put_agents(runtime.client)
    coordinator = Coordinator(runtime)
    begin = time.monotonic()
    coordinator.begin(given.folders)
    runtime.run(COORDINATOR, coordinator.turn)
    if coordinator.result is None:
        return "stopped before all reports were in"
    found, failed = coordinator.result
    table = analysis.table(found)
    print(table)
    log(COORDINATOR, f"{len(found)} files in {time.monotonic() - begin:.1f} s")
    for file, reason in sorted(failed.items()):
        log(COORDINATOR, f"{file} failed: {reason}")
    if failed:
        return 1
    if given.check:
        return check(given, table, coordinator.awaited)
    return 0


if __name__ == "__main__":
    sys.exit(main())
