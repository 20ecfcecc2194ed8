-- Turns that were assigned.
INSERT INTO turns (
    namespace, turn_id, thread_id, handoff_id, agent_id, runtime_id, incarnation, holds_slot,
    token, state, claim_time, lease_expire_time, heartbeat_time, activity_time,
    activity_number, tool_calls, last_tool, last_tool_time, partial_text, input_tokens,
    output_tokens, abort_request_time, abort_reason, check_time, end_time, outcome,
    finish_fingerprint, finish_answer, version)
SELECT
    $1, r.turn_id, r.thread_id, r.handoff_id, r.agent_id, r.runtime_id, r.incarnation,
    r.holds_slot, r.token, r.state::turn_state, r.claim_time,
    r.lease_expire_time, r.heartbeat_time, r.activity_time, r.activity_number, r.tool_calls,
    r.last_tool, r.last_tool_time, r.partial_text, r.input_tokens, r.output_tokens,
    r.abort_request_time, r.abort_reason, r.check_time, r.end_time, r.outcome::turn_outcome,
    r.finish_fingerprint, r.finish_answer, 1
FROM unnest($rows::turn_row[]) AS r
RETURNING 1
