"""A tiny client of handoffd: stubs made from proto/, a namespace on every call, and safe repeats.

Nothing here is needed to talk to handoffd. It only shows what a client has to get right:

- Every call names its namespace, by the metadata key `handoffd-namespace`.
- A call that ended UNAVAILABLE or without an answer is repeated *as it was*, with the request id it
  had: the server then gives the answer of the first, or does it now. So each request is built once,
  with its id, and sent until it is answered.
- Heartbeats go over a connection of their own, so that no long-poll and no large answer delays them.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path

import grpc

PROTO = Path(__file__).resolve().parents[2] / "proto"
CACHE = Path(__file__).resolve().parent / "__pycache__"

# Calls that got no answer are worth repeating; every other code is an answer.
UNANSWERED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def _generate_stubs():
    """Generates the stubs unless these very protos were generated before; returns their folder."""
    files = sorted(PROTO.glob("handoff/v1/*.proto"))
    if not files:
        raise SystemExit(f"no protos in `{PROTO}`")
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    stubs = CACHE / f"stubs-{digest}"
    if stubs.is_dir():
        return stubs
    # Imported here: a generator is needed once, not at every start.
    import grpc_tools
    from grpc_tools import protoc

    CACHE.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=CACHE))
    google = Path(grpc_tools.__file__).parent / "_proto"
    # As `python -m grpc_tools.protoc` does it on the command line.
    arguments = [f"-I{PROTO}", f"-I{google}", f"--python_out={made}", f"--grpc_python_out={made}"]
    if protoc.main(["protoc", *arguments, *map(str, files)]) != 0:
        raise SystemExit("the stubs cannot be generated")
    try:
        # Whole or not at all: several workers may start at once.
        os.rename(made, stubs)
    except OSError:
        shutil.rmtree(made)
    return stubs


sys.path.insert(0, str(_generate_stubs()))

# The stubs must exist before they can be imported.
from handoff.v1 import (  # noqa: E402
    agent_pb2,
    agent_service_pb2,
    agent_service_pb2_grpc,
    event_pb2,
    handoff_pb2,
    handoff_service_pb2,
    handoff_service_pb2_grpc,
    mail_pb2,
    mailbox_service_pb2,
    mailbox_service_pb2_grpc,
    runtime_service_pb2,
    runtime_service_pb2_grpc,
    status_service_pb2,
    status_service_pb2_grpc,
    thread_service_pb2,
    thread_service_pb2_grpc,
    turn_pb2,
)

__all__ = [
    "Client",
    "agent_pb2",
    "agent_service_pb2",
    "event_pb2",
    "handoff_pb2",
    "handoff_service_pb2",
    "log",
    "mail_pb2",
    "mailbox_service_pb2",
    "new_request_id",
    "runtime_service_pb2",
    "status_service_pb2",
    "thread_service_pb2",
    "turn_pb2",
]


def new_request_id():
    """Makes an id for one call; its repeats carry the same."""
    return uuid.uuid4().hex


def log(who, text):
    """Says something to a person. Standard output belongs to the table."""
    print(f"[{who}] {text}", file=sys.stderr, flush=True)


class Client:
    """One connection, with a stub for each service."""

    def __init__(self, address, namespace="default"):
        options = [
            # Channels to one address share a connection unless each keeps its own pool.
            ("grpc.use_local_subchannel_pool", 1),
            # A server that is back must be found before leases end; gRPC would wait up to 120 s.
            ("grpc.max_reconnect_backoff_ms", 2_000),
        ]
        self.channel = grpc.insecure_channel(address, options=options)
        self.metadata = (("handoffd-namespace", namespace),)
        self.agents = agent_service_pb2_grpc.AgentServiceStub(self.channel)
        self.threads = thread_service_pb2_grpc.ThreadServiceStub(self.channel)
        self.mailbox = mailbox_service_pb2_grpc.MailboxServiceStub(self.channel)
        self.handoffs = handoff_service_pb2_grpc.HandoffServiceStub(self.channel)
        self.runtimes = runtime_service_pb2_grpc.RuntimeServiceStub(self.channel)
        self.status = status_service_pb2_grpc.StatusServiceStub(self.channel)

    def call(self, method, request, timeout=10, patience=60):
        """Calls until there is an answer, for `patience` seconds at most.

        `request` is sent as it is each time: give it a request id where it has one.
        """
        pause, end = 0.1, time.monotonic() + patience
        while True:
            try:
                return method(request, timeout=timeout, metadata=self.metadata)
            except grpc.RpcError as error:
                if error.code() not in UNANSWERED or time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 2)

    def begin(self, method, request, timeout):
        """Begins a long call that may be cancelled; its result is awaited by the caller."""
        return method.future(request, timeout=timeout, metadata=self.metadata)

    def close(self):
        """Closes the connection."""
        self.channel.close()
