"""The loop of a runtime: claim turns, keep their leases, hand each to a function, give them back.

What may happen to a turn at any moment, and what is done about it:

- A call of it is answered ABORTED, or a heartbeat finds it closed: it is somebody else's by now. Drop
  it and write nothing more.
- It is asked to stop (signal ABORT): the next call raises `StopAsked`, and the turn finishes ABORTED.
- This process is told to stop: the turns are released, and run elsewhere at once.
- This process is killed: nobody says anything; the turns come back when their leases end.
"""

import os
import signal
import socket
import threading
import time

import grpc
from google.protobuf import duration_pb2, json_format, struct_pb2

from handoff_client import (
    Client,
    event_pb2,
    handoff_pb2,
    log,
    mailbox_service_pb2,
    new_request_id,
    runtime_service_pb2,
    thread_service_pb2,
    turn_pb2,
)

CLAIM_WAIT = 20  # seconds; the server allows 300


def struct(mapping):
    """Makes a Struct of a dictionary."""
    made = struct_pb2.Struct()
    made.update(mapping)
    return made


def plain(made):
    """Makes a dictionary of a Struct. Its numbers are floats."""
    return json_format.MessageToDict(made)


class TurnGone(Exception):
    """The turn is not ours any more."""


class StopAsked(Exception):
    """The turn is asked to stop."""


class Held:
    """A turn in hand."""

    def __init__(self, client, turn):
        self.client = client
        self.turn = turn
        self.ref = turn_pb2.TurnRef(turn_id=turn.turn_id, token=turn.token)
        self.given_through = turn.given_through
        self.gone = threading.Event()
        self.stop_asked = threading.Event()
        self.obey(turn.signals)
        self._lock = threading.Lock()
        self._tools, self._text, self._sequence, self._unsent = [], None, 0, None

    def call(self, method, request):
        """Makes a call of this turn; raises where the turn is gone or asked to stop."""
        if self.gone.is_set():
            raise TurnGone
        if self.stop_asked.is_set():
            raise StopAsked
        return self._send(method, request)

    def _send(self, method, request):
        try:
            answer = self.client.call(method, request)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.ABORTED:
                self.gone.set()
                raise TurnGone from error
            raise
        return answer

    def obey(self, signals):
        """Takes note of a stop. Waiting mail needs no note: it is read, or wakes the thread again."""
        if any(told.WhichOneof("kind") == "abort" for told in signals):
            self.stop_asked.set()

    def append(self, *events):
        """Writes to the thread's history. A tool call written here also counts in status."""
        request = thread_service_pb2.AppendEventsRequest(
            turn=self.ref, events=events, request_id=new_request_id()
        )
        self.obey(self.call(self.client.threads.AppendEvents, request).signals)

    def tool_call(self, call_id, name, **arguments):
        """Writes that a tool was called."""
        made = event_pb2.ToolCall(call_id=call_id, name=name, arguments=struct(arguments))
        self.append(event_pb2.NewEvent(tool_call=made))

    def tool_result(self, call_id, **data):
        """Writes what the tool answered."""
        made = event_pb2.ToolResult(call_id=call_id, data=struct(data))
        self.append(event_pb2.NewEvent(tool_result=made))

    def progress(self, text, tool=None):
        """Leaves word for status; the next heartbeat takes it along."""
        with self._lock:
            self._text = text
            if tool:
                self._tools.append(turn_pb2.ToolCallActivity(name=tool))

    def activity(self):
        """What the next heartbeat reports: what was not answered yet, word for word, else what is new."""
        with self._lock:
            if self._unsent is None and (self._tools or self._text is not None):
                self._sequence += 1
                self._unsent = turn_pb2.TurnActivity(
                    sequence=self._sequence, tool_calls=self._tools, partial_text=self._text
                )
                self._tools, self._text = [], None
            return self._unsent

    def reported(self):
        """The last heartbeat was answered."""
        with self._lock:
            self._unsent = None

    def mail(self):
        """Reads the mail: what came with the claim, then what came since."""
        yield from self.turn.mail
        more = True
        while more:
            request = mailbox_service_pb2.ReadMailRequest(
                turn=self.ref, received_through=self.given_through
            )
            answer = self.call(self.client.mailbox.ReadMail, request)
            self.obey(answer.signals)
            self.given_through, more = answer.given_through, answer.has_more
            yield from answer.messages

    def send(self, **message):
        """Sends a message as this turn's thread."""
        request = mailbox_service_pb2.SendMessageRequest(
            turn=self.ref, request_id=new_request_id(), **message
        )
        return self.call(self.client.mailbox.SendMessage, request)

    def finish(self, outcome=turn_pb2.TURN_OUTCOME_DONE, **how):
        """Ends the turn. What it was given is done with; mail it was not given wakes the thread again."""
        request = runtime_service_pb2.FinishTurnRequest(
            turn=self.ref, outcome=outcome, received_through=self.given_through, **how
        )
        # Not `call`: a turn that is asked to stop must still be able to say that it did.
        return self._send(self.client.runtimes.FinishTurn, request)


class Runtime:
    """One incarnation of a runtime. `handle` is called with each turn, in a thread of its own."""

    def __init__(self, client, beats, runtime_id, slots=1):
        self.client, self.beats, self.name, self.slots = client, beats, runtime_id, slots
        request = runtime_service_pb2.RegisterRuntimeRequest(
            runtime_id=runtime_id, description=f"{socket.gethostname()}, process {os.getpid()}"
        )
        answer = client.call(client.runtimes.RegisterRuntime, request)
        self.incarnation = answer.incarnation
        self.interval = answer.lease_duration.ToTimedelta().total_seconds() / 3
        self.held = {}
        self._lock = threading.Lock()
        self._free = threading.Semaphore(slots)
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._claim = None

    @classmethod
    def connect(cls, address, namespace, runtime_id, slots=1):
        """Registers, with one connection for heartbeats and one for everything else."""
        return cls(Client(address, namespace), Client(address, namespace), runtime_id, slots)

    def stop_on_signals(self):
        """Ends the loop in order on SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def stop(self):
        """Ends the loop. Turns in hand are given back."""
        self._stopping.set()
        claim = self._claim
        if claim is not None:
            claim.cancel()

    def run(self, agent_id, handle):
        """Works until it is stopped."""
        threading.Thread(target=self._keep_leases, daemon=True).start()
        try:
            while not self._stopping.is_set():
                for held in self._take(agent_id):
                    work = threading.Thread(target=self._carry_out, args=(held, handle))
                    work.daemon = True
                    work.start()
        finally:
            self._stopping.set()
            self._release()
            self.client.close()
            self.beats.close()

    def _take(self, agent_id):
        """Claims as many turns as there are free slots; each takes its slot along."""
        free = 0
        while free < self.slots and self._free.acquire(timeout=0 if free else 0.5):
            free += 1
        turns = self._claim_turns(agent_id, free) if free else []
        for _ in range(free - len(turns)):
            self._free.release()
        held = [Held(self.client, turn) for turn in turns]
        with self._lock:
            self.held.update((turn.ref.turn_id, turn) for turn in held)
        if held:
            # The first heartbeat makes them running; an assigned turn is not waited for long.
            self._hurry.set()
        return held

    def _claim_turns(self, agent_id, most):
        request = runtime_service_pb2.ClaimTurnsRequest(
            runtime_id=self.name,
            incarnation=self.incarnation,
            agent_ids=[agent_id],
            max_turns=most,
            wait=duration_pb2.Duration(seconds=CLAIM_WAIT),
        )
        self._claim = self.client.begin(
            self.client.runtimes.ClaimTurns, request, timeout=CLAIM_WAIT + 10
        )
        if self._stopping.is_set():
            self._claim.cancel()
        try:
            return self._claim.result().turns
        except grpc.FutureCancelledError:
            return []
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.CANCELLED:
                return []
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                # Turns of an answer that was lost come back by themselves.
                time.sleep(0.5)
                return []
            raise

    def _carry_out(self, held, handle):
        try:
            handle(held)
        except TurnGone:
            log(self.name, f"{held.ref.turn_id} is gone, dropped")
        except StopAsked:
            self._end(held, turn_pb2.TURN_OUTCOME_ABORTED)
        except Exception as error:  # The handoff must not hang on a defect of ours.
            if self._stopping.is_set():
                # The connection was closed under it.
                return
            log(self.name, f"{held.ref.turn_id} failed: {error!r}")
            failure = turn_pb2.TurnError(
                failure_class=handoff_pb2.FAILURE_CLASS_OTHER, summary=repr(error)[:2000]
            )
            self._end(held, turn_pb2.TURN_OUTCOME_FAILED, error=failure)
        finally:
            with self._lock:
                self.held.pop(held.ref.turn_id, None)
            self._free.release()

    def _end(self, held, outcome, **how):
        try:
            held.finish(outcome, **how)
        except (TurnGone, grpc.RpcError) as error:
            log(self.name, f"{held.ref.turn_id} could not be finished: {error!r}")

    def _keep_leases(self):
        while not self._stopping.is_set():
            self._hurry.wait(self.interval)
            self._hurry.clear()
            try:
                self._beat()
            except grpc.RpcError as error:
                if not self._stopping.is_set():
                    log(self.name, f"heartbeat failed: {error.code().name}")

    def _beat(self):
        with self._lock:
            held = list(self.held.values())
        request = runtime_service_pb2.HeartbeatRequest(
            runtime_id=self.name,
            incarnation=self.incarnation,
            turns=[
                runtime_service_pb2.TurnHeartbeat(turn=each.ref, activity=each.activity())
                for each in held
            ],
        )
        method = self.beats.runtimes.Heartbeat
        answer = self.beats.call(method, request, timeout=self.interval, patience=self.interval)
        for each, found in zip(held, answer.turns):
            if found.state == turn_pb2.TURN_LEASE_STATE_RENEWED:
                each.reported()
                each.obey(found.signals)
            else:
                each.gone.set()

    def _release(self):
        """Gives back every turn of this incarnation, also one whose claim was just cancelled."""
        with self._lock:
            for held in self.held.values():
                held.gone.set()
        request = runtime_service_pb2.ReleaseTurnsRequest(
            runtime_id=self.name, incarnation=self.incarnation
        )
        more = True
        try:
            while more:
                answer = self.client.call(self.client.runtimes.ReleaseTurns, request, patience=5)
                more = answer.has_more
                for turn_id in answer.turn_ids:
                    log(self.name, f"{turn_id} released")
        except grpc.RpcError as error:
            # Then they come back when their leases end.
            log(self.name, f"turns could not be given back: {error.code().name}")
