"""A runtime of the torture: the agents of `faults/agents`, on the client of `examples/python`.

Its orders are JSON in HANDOFFD_TEST_RUNTIME. Before it acts on a message it writes down that it was
given, so that this outlives it.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import grpc

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "examples" / "python"))

# The example must be on the path before it can be imported.
from handoff_client import (  # noqa: E402
    handoff_pb2,
    handoff_service_pb2,
    log,
    mail_pb2,
    mailbox_service_pb2,
    turn_pb2,
)
from runtime import Runtime, TurnGone  # noqa: E402

CRASHED = 86
NOTE, REPORT = mail_pb2.MESSAGE_KIND_NOTE, mail_pb2.MESSAGE_KIND_REPORT


class Journal:
    """What outlives the process."""

    def __init__(self, path):
        self.file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def write(self, *words):
        """One line, in one piece: a kill leaves the whole or nothing."""
        os.write(self.file, (" ".join(words) + "\n").encode())


class Agents:
    """Carries turns out."""

    def __init__(self, journal):
        self.journal = journal

    def turn(self, held):
        """One turn, to its finish."""
        mail = self.read(held)
        for message in mail:
            if message.body.startswith("ping "):
                self.pong(held, message)
        if held.turn.report_owed:
            self.work(held, held.turn.assignment.task.split(), mail)
        else:
            self.done(held)

    def read(self, held):
        """Reads all there is."""
        mail = []
        for message in held.mail():
            self.journal.write("given", held.turn.turn_id, message.message_id)
            mail.append(message)
        return mail

    def done(self, held, following=turn_pb2.TURN_NEXT_FINISHED):
        """Ends a turn well."""
        held.finish(next=following)
        self.journal.write("ended", held.turn.turn_id, "done")

    def work(self, held, task, mail):
        """Does what the words of the task say."""
        kind, number = task[0], 0 if task[0] == "nest" else int(task[1])
        answer, first = str(number * number), held.turn.lost_turns == 0
        if kind == "slow":
            self.send(held, "progress", mail_pb2.MESSAGE_KIND_PROGRESS, "begun")
            for step in range(3):
                held.progress(f"step {step}", tool="wait")
                time.sleep(0.5)
            held.tool_call(f"{held.turn.turn_id}-think", "think")
        elif kind == "steps" and held.turn.token < 3:
            return self.done(held, turn_pb2.TURN_NEXT_CONTINUE)
        elif kind == "gather":
            return self.gather(held, number, int(task[2]))
        elif kind == "fail":
            error = turn_pb2.TurnError(
                failure_class=handoff_pb2.FAILURE_CLASS_OTHER, summary="asked to fail"
            )
            held.finish(turn_pb2.TURN_OUTCOME_FAILED, error=error)
            return self.journal.write("ended", held.turn.turn_id, "failed")
        elif kind in ("drop", "crash") and first:
            if number % 2 == 0:
                self.report(held, answer)
            if kind == "crash":
                os._exit(CRASHED)
            held.gone.set()
            raise TurnGone
        elif kind == "nest":
            answer = next((message.body for message in mail if message.kind == REPORT), None)
            if answer is None:
                self.hand_on(held, " ".join(task[1:]))
                return self.done(held, turn_pb2.TURN_NEXT_WAIT)
        self.report(held, answer)
        return self.done(held)

    def gather(self, held, number, wanted):
        """Adds up what its notes say. Nothing of it is kept between turns: it is in the mailbox."""
        self.read(held)
        request = mailbox_service_pb2.ListMailRequest(thread_id=held.turn.thread_id, page_size=500)
        page = held.call(held.client.mailbox.ListMail, request)
        notes = [int(message.body) for message in page.messages if message.kind == NOTE]
        if len(notes) < wanted:
            return self.done(held, turn_pb2.TURN_NEXT_WAIT)
        self.report(held, str(number * number + sum(notes)))
        return self.done(held)

    def hand_on(self, held, task):
        """Hands the same work on, also in another turn after this one was lost."""
        request = handoff_service_pb2.CreateHandoffRequest(
            turn=held.ref,
            task=task,
            idempotency_key=held.turn.handoff_id,
            request_id=f"{held.turn.turn_id}-hand-on",
        )
        held.call(held.client.handoffs.CreateHandoff, request)

    def report(self, held, body):
        """States the result."""
        self.send(held, "report", REPORT, body)

    def pong(self, held, message):
        """Answers a message. The request id is the message's: of all turns one answers."""
        request = mailbox_service_pb2.SendMessageRequest(
            turn=held.ref,
            to_thread_id=message.from_thread_id,
            kind=NOTE,
            in_reply_to=message.message_id,
            body=f"pong {message.body.removeprefix('ping ')}",
            request_id=f"reply-{message.message_id}",
        )
        while True:
            try:
                return held.call(held.client.mailbox.SendMessage, request)
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
            time.sleep(0.5)

    def send(self, held, what, kind, body):
        """Sends to the parent thread."""
        request = mailbox_service_pb2.SendMessageRequest(
            turn=held.ref, kind=kind, body=body, request_id=f"{held.turn.turn_id}-{what}"
        )
        held.call(held.client.mailbox.SendMessage, request)


def serve(runtime, agent_id, agents):
    """Runs one agent; whatever ends that by itself ends the process, which is started again."""
    try:
        runtime.run(agent_id, agents.turn)
    except BaseException as error:
        log(runtime.name, f"ended: {error!r}")
        os._exit(1)


def main():
    """Runs each agent as a runtime of its own, until SIGTERM."""
    orders = json.loads(os.environ["HANDOFFD_TEST_RUNTIME"])
    agents = Agents(Journal(orders["journal"]))
    runtimes = {
        agent_id: Runtime.connect(orders["servers"][0], "default", f"{orders['id']}-{agent_id}", 4)
        for agent_id in orders["agents"]
    }

    def stop(*_):
        for runtime in runtimes.values():
            runtime.stop()

    signal.signal(signal.SIGTERM, stop)
    threads = [
        threading.Thread(target=serve, args=(runtime, agent_id, agents))
        for agent_id, runtime in runtimes.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
