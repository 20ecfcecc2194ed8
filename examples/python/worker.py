"""A worker: analyses one file a turn and reports by mail.

    python worker.py NAME [--server 127.0.0.1:7420] [--slots 4]

NAME is the runtime's; two workers that run at once need two names. SIGTERM gives back what is in
hand; after SIGKILL it comes back by itself.
"""

import argparse
import time
from pathlib import Path

import analysis
from agents import ANALYST, put_agents
from handoff_client import handoff_pb2, log, mail_pb2
from runtime import Runtime, plain, struct


def work(held, name, pace):
    """Carries out one turn."""
    turn = held.turn
    if not turn.handoff_id:
        # The report got through and the finish did not: nothing is owed any more.
        held.finish()
        return
    task = plain(turn.assignment.context_data)
    if turn.lost_turns:
        log(name, f"taking over {task['file']} (lost turns before: {turn.lost_turns})")
    held.tool_call("read", "read_file", path=task["path"])
    log(name, f"analysing {task['file']}")
    held.progress(f"reading {task['file']}")
    time.sleep(pace)
    try:
        found = analysis.analyse(Path(task["path"]).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        report(held, f"{task['file']}: {error}", {"file": task["file"]}, handoff_pb2.OUTCOME_FAILED)
    else:
        held.tool_result("read", lines=found["lines"])
        held.progress(f"counted {found['words']} words", tool="count_terms")
        said = f"{task['file']}: {found['lines']} lines, {found['words']} words"
        report(held, said, {"file": task["file"], **found}, handoff_pb2.OUTCOME_SUCCEEDED)
    # The report has completed the handoff; the turn only has to end.
    held.finish()


def report(held, body, data, outcome):
    """States the result to the parent thread; no recipient named means just that one."""
    held.send(
        kind=mail_pb2.MESSAGE_KIND_REPORT,
        subject=data["file"][:200],
        body=body,
        data=struct(data),
        outcome=outcome,
    )


def main():
    """Works until SIGTERM or SIGINT."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("name", help="name of the runtime")
    options.add_argument("--server", default="127.0.0.1:7420", help="address of handoffd")
    options.add_argument("--namespace", default="default")
    options.add_argument("--slots", type=int, default=4, help="turns at once")
    options.add_argument("--pace", type=float, default=0, help="seconds of pretended work a file")
    given = options.parse_args()
    runtime = Runtime.connect(given.server, given.namespace, given.name, given.slots)
    runtime.stop_on_signals()
    put_agents(runtime.client)
    runtime.run(ANALYST, lambda held: work(held, given.name, given.pace))


if __name__ == "__main__":
    main()
