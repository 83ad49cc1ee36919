import { uuidv7 } from "uuidv7";
import type { RunState, RunUpdate } from "../../domain/runs/run.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import { MAX_EVENT_DATA_BYTES, OVERSIZE } from "../../domain/webhooks/events.ts";
import { jsonb } from "../jsonb.ts";
import type { Db, Statement } from "../db.ts";
import type { RunRow } from "./runs.ts";

/** An entry of a run's event log, before it has its number. */
export interface RunEventDraft {
  readonly type: "node.started" | "node.retrying" | "node.finished" | "output.delta";
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a write has changed. */
export interface RunWriteResult {
  /** The state of the run before the write, and after it. */
  readonly old_state: RunState;
  readonly state: RunState;
  readonly project_id: string;
  /** From the run's creation (or its run_at) to this write. */
  readonly latency_ms: number;
  /** Paths of the nodes whose record this write has changed: not those that had ended before. */
  readonly changed_nodes: readonly string[];
  /** The run as it is then, where the write was one of its state. */
  readonly row: RunRow | null;
}

/** Time without a change after which the reconciler checks a run (ms). */
const DEFAULT_CHECK_MS = 60_000;

/** The usage of the calls (or sub-runs) `m`; null where there are none. A cost is known only where all of them have one. */
const USED = `case when count(*) > 0 then jsonb_build_object('input_tokens', sum(m.input_tokens), 'output_tokens', sum(m.output_tokens),
  'total_tokens', sum(m.input_tokens + m.output_tokens), 'cost_usd', case when count(*) = count(m.cost_usd) then sum(m.cost_usd) end,
  'estimated', bool_or(m.estimated)) end`;

// One statement, so that state, nodes, events and outbox agree after any crash. The row lock on the run puts the writes
// of parallel branches in order, and with them the numbers of the events: who has seen number n has seen all below it.
const RECORD = `
with before as (
  select run_id, org_id, project_id, flow_version, state, event_seq, run_type, parent_run_id
  from runs where run_id = $1::uuid for update
),
-- A terminal run accepts no more: late reports were settled with it, and readers of its events have disconnected.
open as (
  select * from before where state not in ('COMPLETED', 'FAILED', 'CANCELLED')
),
-- Pauses that have become obsolete: the map around them has timed out, or a node beside them has failed.
given_up as (
  select path from jsonb_to_recordset($7::jsonb) as n (path text, state text) where state = 'CANCELLED'
  union all
  -- Recorded before, if the write that opens the pause arrives late.
  select p.path from jsonb_to_recordset($9::jsonb) as p (path text)
  cross join lateral (select state from node_runs where run_id = $1::uuid and path = p.path limit 1) as recorded
  where recorded.state = 'CANCELLED'
),
waiting as (
  select (exists (
    -- Opened by a write that is repeated, a pause may have been answered in between.
    select from jsonb_to_recordset($9::jsonb) as p (pause_id uuid, path text)
    where coalesce((select known.status from run_pauses as known where known.pause_id = p.pause_id limit 1), 'waiting') = 'waiting'
      and p.path not in (select path from given_up)
  ) or exists (
    select from run_pauses where run_id = $1::uuid and status = 'waiting' and not (pause_id = any ($10::uuid[]))
      and path not in (select path from given_up)
  ) or exists (
    select from run_shown_pauses as shown join run_pauses as p using (pause_id) where shown.run_id = $1::uuid and p.status = 'waiting'
  )) as any
),
moved as (
  select *, case
    when state in ('COMPLETED', 'FAILED', 'CANCELLED') then state
    when $3::text is null then case state when 'PENDING' then 'RUNNING' else state end
    when $3 = 'PAUSED' and not (select waiting.any from waiting) then case state when 'PENDING' then 'RUNNING' else state end
    when $3 = 'RESUMED' and state = 'PENDING' then 'RUNNING'
    else $3
  end as new_state
  from before
),
put_nodes as (
  insert into node_runs (run_id, path, org_id, node_id, type, state, attempts, inputs, output, truncated, error, started_at, finished_at,
    next_attempt_at, citations, usage)
  select open.run_id, n.path, open.org_id, n.node_id, n.type, n.state, n.attempts, n.inputs, n.output, coalesce(n.truncated, false),
    n.error, n.started_at, n.finished_at, n.next_attempt_at, n.citations,
    -- Its calls were written before its end.
    case when n.type in ('llm', 'router', 'audio', 'image') and n.finished_at is not null then (
      select ${USED} from model_calls m where m.run_id = open.run_id and m.path = n.path) end
  from open, jsonb_to_recordset($7::jsonb) as n (path text, node_id text, type text, state text, attempts integer, inputs jsonb,
    output jsonb, truncated boolean, error jsonb, started_at timestamptz, finished_at timestamptz, next_attempt_at timestamptz,
    citations jsonb)
  on conflict (run_id, path) do update set state = excluded.state, attempts = excluded.attempts,
    inputs = coalesce(excluded.inputs, node_runs.inputs), output = excluded.output, truncated = excluded.truncated,
    error = excluded.error, started_at = coalesce(node_runs.started_at, excluded.started_at), finished_at = excluded.finished_at,
    next_attempt_at = excluded.next_attempt_at, citations = excluded.citations,
    usage = coalesce(excluded.usage, node_runs.usage)
  -- A record that comes late (an activity that was cancelled, a worker thought dead) does not undo a node's end.
  where node_runs.state not in ('COMPLETED', 'FAILED', 'SKIPPED', 'CANCELLED')
  returning path
),
put_pauses as (
  insert into run_pauses (pause_id, run_id, org_id, workflow_id, node_id, path, kind, message, data, form, actions,
    required_approvals, expires_at, on_timeout, status)
  select p.pause_id, open.run_id, open.org_id, p.workflow_id, p.node_id, p.path, p.kind, p.message, p.data, p.form, p.actions,
    p.required_approvals, p.expires_at, p.on_timeout, case when p.path in (select path from given_up) then 'cancelled' else 'waiting' end
  from open, jsonb_to_recordset($9::jsonb) as p (pause_id uuid, workflow_id text, node_id text, path text, kind text, message text,
    data jsonb, form jsonb, actions jsonb, required_approvals integer, expires_at timestamptz, on_timeout text)
  on conflict do nothing
),
put_shown_pauses as (
  insert into run_shown_pauses (run_id, pause_id, org_id, distance, path)
  select shown.run_id, p.pause_id, open.org_id, shown.distance, shown.path
  from open, jsonb_to_recordset($9::jsonb) as p (pause_id uuid, shown_in jsonb),
    rows from (jsonb_to_recordset(p.shown_in) as (run_id uuid, path text)) with ordinality as shown (run_id, path, distance)
  -- The row of a run around this one may have been removed with its project.
  where exists (select from runs where runs.run_id = shown.run_id)
  on conflict do nothing
),
taken as (
  update run_pauses set delivered_at = now() where pause_id = any ($10::uuid[]) and run_id = $1::uuid and delivered_at is null
),
closed as (
  -- One that has an answer keeps it; it is not sent again.
  update run_pauses set status = case status when 'waiting' then 'cancelled' else status end,
    resolved_at = coalesce(resolved_at, now()), delivered_at = coalesce(delivered_at, now())
  from moved where run_pauses.run_id = moved.run_id and (
    run_pauses.path in (select path from given_up)
    or run_pauses.status = 'waiting' and moved.new_state in ('COMPLETED', 'FAILED', 'CANCELLED') and moved.state <> moved.new_state
  )
),
put_checkpoint as (
  insert into run_checkpoints (run_id, org_id, nodes)
  select run_id, org_id, $11::jsonb from moved where $11::jsonb is not null and state <> new_state
  on conflict (run_id) do nothing
),
events as (
  select 0 as part, 0::bigint as ord, 'run.state' as type, $4::timestamptz as at, jsonb_build_object('state', 'RUNNING') as data
  from moved where state = 'PENDING' and new_state <> 'PENDING' and $2::text is not null
  union all
  select 1, e.ord, e.type, e.at, e.data
  from open
  cross join rows from (jsonb_to_recordset($8::jsonb) as (type text, at timestamptz, data jsonb)) with ordinality as e (type, at, data, ord)
  -- A write that is retried, because its first success went unconfirmed, adds no event twice.
  -- One look-up a node, through the index: planned on a small table, a join would read all of it, and go on so as it grows.
  left join lateral (
    select path, state, attempts, error from node_runs where run_id = open.run_id and path = e.data->>'path' limit 1
  ) as recorded on true
  where recorded.path is null
    or recorded.state not in ('COMPLETED', 'FAILED', 'SKIPPED', 'CANCELLED') and case e.type
      when 'node.started' then false
      when 'node.retrying' then recorded.attempts < (e.data->>'attempt')::integer or recorded.error is null and e.data->>'error' is not null
      else true
    end
  union all
  select 2, 0, 'run.state', clock_timestamp(), jsonb_build_object('state', new_state, 'reason', $5::text)
  from moved where state <> new_state and new_state <> 'RUNNING'
  union all
  select 3, 0, 'run.paused', clock_timestamp(), jsonb_build_object('run_id', run_id) from moved where state <> new_state and new_state = 'PAUSED'
  union all
  select 3, 0, 'run.finished', clock_timestamp(), jsonb_build_object('run_id', run_id, 'state', new_state, 'error', $12::jsonb)
  from moved where state <> new_state and new_state in ('COMPLETED', 'FAILED', 'CANCELLED')
),
put_events as (
  insert into run_events (run_id, seq, org_id, type, at, data)
  select before.run_id, before.event_seq + row_number() over (order by events.part, events.ord), before.org_id, events.type, events.at, events.data
  from before, events
),
put_outbox as (
  insert into outbox (event_id, org_id, type, project_id, data)
  -- From the application: Postgres makes ids that are in the order of time from version 18 on only.
  select ($15::uuid[])[1 + change.ord], org_id, case when run_type in ('batch', 'sub_workflow') then 'part.' else 'run.' end || change.name, project_id, jsonb_build_object('run_id', run_id, 'project_id', project_id,
    'flow_version', flow_version, 'run_type', run_type, 'parent_run_id', parent_run_id, 'state', change.state, 'state_reason', $5::text, 'error', $12::jsonb)
      || case when change.state = 'COMPLETED' then payload.outputs else '{}' end
  from moved cross join lateral (
    select 'started' as name, 'RUNNING' as state, 0 as ord where moved.state = 'PENDING' and $2::text is not null
    union all
    select lower(moved.new_state), moved.new_state, 1 where moved.state <> moved.new_state and moved.new_state <> 'RUNNING'
    order by ord
  ) as change
  cross join lateral (
    -- Long outputs are not copied: the event gives their length and where to read them.
    select case when sum(size) > ${MAX_EVENT_DATA_BYTES} or bool_or(value ? 'ref') then jsonb_build_object('${OVERSIZE}', sum(size))
      else jsonb_build_object('outputs', coalesce(jsonb_object_agg(key, value -> 'v'), '{}')) end as outputs
    from (
      select key, value, coalesce((value -> 'ref' ->> 'size')::bigint, octet_length(value::text)) as size
      from jsonb_each(coalesce($6::jsonb, '{}'))
    ) as output
  ) as payload
  -- Of these their experiment, or the run around them, tells. Only a monitor can ask for their ends, in events of which nobody else
  -- is told.
  where moved.run_type not in ('batch', 'sub_workflow')
    or change.state in ('COMPLETED', 'FAILED', 'CANCELLED') and exists (
      select from eval_monitors m where m.project_id = moved.project_id and m.enabled and m.deleted_at is null
        and m.filter -> 'run_types' ? moved.run_type)
)
update runs set
  state = moved.new_state,
  state_reason = case when moved.state <> moved.new_state then $5 else runs.state_reason end,
  outputs = case when moved.state <> moved.new_state then coalesce($6::jsonb, runs.outputs) else runs.outputs end,
  -- Of nodes that ended before: those that search write their end by themselves.
  citations = case when moved.state = moved.new_state or moved.new_state = 'RUNNING' then runs.citations else (
    select jsonb_agg(cited.citation order by cited.path, cited.ord) from (
      select distinct on (c.citation ->> 'chunk_id') c.citation || jsonb_build_object('node_id', n.node_id) as citation, n.path, c.ord
      from node_runs n cross join lateral jsonb_array_elements(n.citations) with ordinality c (citation, ord)
      where n.run_id = moved.run_id and n.citations is not null
        -- Where models were given what was found, only what they cite counts.
        and (n.type = 'llm' or not exists (
          select from node_runs l where l.run_id = moved.run_id and l.type = 'llm' and l.citations is not null))
      order by c.citation ->> 'chunk_id', n.path, c.ord
    ) as cited) end,
  usage = case when moved.state = moved.new_state or moved.new_state not in ('COMPLETED', 'FAILED', 'CANCELLED') then runs.usage else coalesce((
      select ${USED} from (
        select input_tokens, output_tokens, cost_usd, estimated from model_calls where run_id = moved.run_id
        union all
        select (usage ->> 'input_tokens')::bigint, (usage ->> 'output_tokens')::bigint, (usage ->> 'cost_usd')::numeric,
          (usage ->> 'estimated')::boolean
        from runs as sub where parent_run_id = moved.run_id and usage <> '{}'
      ) as m), runs.usage) end,
  error = case when moved.state <> moved.new_state then coalesce($12::jsonb, runs.error) else runs.error end,
  temporal_run_id = coalesce($2::text, runs.temporal_run_id),
  start_input = case when moved.state = 'PENDING' then '{}' else runs.start_input end,
  started_at = coalesce(runs.started_at, $4),
  paused_at = case when moved.new_state = 'PAUSED' and moved.state <> 'PAUSED' then clock_timestamp() else runs.paused_at end,
  finished_at = case when moved.state <> moved.new_state and moved.new_state in ('COMPLETED', 'FAILED', 'CANCELLED')
    then clock_timestamp() else runs.finished_at end,
  total_nodes = greatest(runs.total_nodes, ($13::jsonb->>'total_nodes')::integer),
  started_nodes = greatest(runs.started_nodes, ($13::jsonb->>'started_nodes')::integer),
  completed_nodes = greatest(runs.completed_nodes, ($13::jsonb->>'completed_nodes')::integer),
  skipped_nodes = greatest(runs.skipped_nodes, ($13::jsonb->>'skipped_nodes')::integer),
  current_node = coalesce($13::jsonb->>'current_node', runs.current_node),
  event_seq = runs.event_seq + (select count(*) from events),
  updated_at = clock_timestamp(),
  check_at = clock_timestamp() + make_interval(secs => $14::float8 / 1000)
-- By its id itself: planned on a small table, a join would read every run of the organisation, and go on so as they grow.
from moved where runs.run_id = $1::uuid
returning moved.state as old_state, runs.state, runs.project_id,
  (1000 * extract(epoch from clock_timestamp() - greatest(runs.created_at, runs.run_at)))::float8 as latency_ms,
  array(select path from put_nodes) as changed_nodes`;

const RECORD_PROGRESS: Statement = { name: "record_run", text: RECORD };
// Who waits for a change of state gets the row with the write itself.
const RECORD_STATE: Statement = {
  name: "record_run_state",
  text: `${RECORD}, runs.*`,
};

/**
 * Persists the changes of a run since the last write: its state, nodes, pauses, events and the outbox rows of the change
 * of state. Never changes a terminal state; returns what it changed, or null when there is no such run.
 */
export async function recordRun(
  db: Db,
  update: RunUpdate,
  events: readonly RunEventDraft[],
  checkAfterMs = DEFAULT_CHECK_MS,
): Promise<RunWriteResult | null> {
  const withRow = update.state !== undefined;
  const rows = await db.query<Omit<RunWriteResult, "row"> & RunRow>(withRow ? RECORD_STATE : RECORD_PROGRESS, [
    update.run_id,
    update.temporal_run_id === "" ? null : update.temporal_run_id,
    update.state ?? null,
    update.started_at,
    update.state_reason ?? null,
    update.outputs ? jsonb(update.outputs) : null,
    jsonb(update.nodes),
    jsonb(events),
    jsonb(update.pauses_opened ?? []),
    update.pauses_taken ?? [],
    update.checkpoint ? jsonb(update.checkpoint) : null,
    update.error ? jsonb(update.error) : null,
    jsonb(update.progress),
    checkAfterMs,
    // One for each event that a write may publish: that the run has started, and its new state.
    [uuidv7(), uuidv7()],
  ]);
  const [written] = rows;
  if (!written) return null;
  const { old_state, latency_ms, changed_nodes, ...row } = written;
  const { state, project_id } = row;
  return { old_state, state, project_id, latency_ms, changed_nodes, row: withRow ? row : null };
}

/**
 * Locks the run's row. A write of PAUSED needs this lock first, in the same transaction: whether a pause still waits must
 * be read after every resume that is under way has committed.
 */
export async function lockRun(db: Db, runId: string): Promise<void> {
  await db.query({ name: "lock_run", text: "select 1 from runs where run_id = $1::uuid for update" }, [runId]);
}

/** The states a checkpoint is worth keeping for. */
export function keepsCheckpoint(state: RunState | undefined): boolean {
  return state !== undefined && isTerminal(state) && state !== "COMPLETED";
}
