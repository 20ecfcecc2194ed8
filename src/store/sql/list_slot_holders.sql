-- Live turns that hold a slot of an agent, oldest first. Live turns are few, so this walks the index of
-- live turns and needs none of its own, which every claim and finish would pay for.
SELECT t.turn_id, t.thread_id, t.handoff_id, t.runtime_id, t.state = 'running' AS running, t.claim_time,
    t.lease_expire_time
FROM turns AS t
WHERE t.namespace = $1 AND t.end_time IS NULL AND t.agent_id = $2 AND t.holds_slot
ORDER BY t.claim_time, t.turn_id
LIMIT $3
