"""The two agents of the example. Whoever starts first puts them; putting them again changes nothing."""

from handoff_client import agent_pb2, agent_service_pb2

ANALYST = "file-analyst"
COORDINATOR = "file-coordinator"


def put_agents(client):
    """Registers both agents."""
    accepting = agent_pb2.HandoffPolicy(accepts_handoffs=agent_pb2.ACCEPT_HANDOFFS_ACCEPT)
    for agent in (
        agent_service_pb2.PutAgentRequest(
            agent_id=ANALYST,
            display_name="File analyst",
            description="Counts lines, words and terms of one text file.",
            handoff_policy=accepting,
        ),
        agent_service_pb2.PutAgentRequest(
            agent_id=COORDINATOR,
            display_name="File coordinator",
            description="Hands each file of a folder to an analyst and gathers the reports.",
        ),
    ):
        client.call(client.agents.PutAgent, agent)
