-- A run whose cancellation was accepted ends as CANCELLED, whatever its workflow reports.
create or replace function record_run(
  in_run_id uuid, in_temporal_run_id text, in_state text, in_started_at timestamptz, in_reason text, in_outputs jsonb, in_nodes jsonb,
  in_events jsonb, in_pauses jsonb, in_taken uuid[], in_checkpoint jsonb, in_error jsonb, in_progress jsonb, in_check_after_ms float8,
  in_event_ids uuid[], in_max_event_bytes integer,
  out old_state text, out new_state text, out project uuid, out latency_ms float8, out changed_nodes text[], out run runs
) language plpgsql as $$
declare
  is_open boolean;
  is_part boolean;
  begins boolean;
  changes boolean;
  ends boolean;
  waits boolean := false;
  given_up text[];
  cited jsonb;
  used jsonb;
  added integer := 0;
begin
  -- The lock puts the writes of parallel branches in order, and with them the numbers of the events: who has seen number n has seen
  -- all below it. What follows sees what was committed before the lock was there.
  select * into run from runs where run_id = in_run_id for update;
  if not found then return; end if;
  old_state := run.state;
  -- A run that has ended accepts no more: late reports were settled with it, and readers of its events have disconnected.
  is_open := not is_run_end(old_state);
  changed_nodes := '{}';
  -- A cancellation that was accepted counts, even if the workflow has come to another end before it learned of it.
  if in_state in ('COMPLETED', 'FAILED') and run.cancel_requested is not null then
    in_state := 'CANCELLED';
    in_reason := run.cancel_requested ->> 'reason';
    in_error := null;
  end if;

  -- Pauses that have become obsolete: the map around them has timed out, or a node beside them has failed.
  given_up := array(select n.path from jsonb_to_recordset(in_nodes) as n (path text, state text) where n.state = 'CANCELLED');
  if in_pauses <> '[]' then
    -- Recorded before, if the write that opens the pause arrives late.
    given_up := given_up || array(
      select p.path from jsonb_to_recordset(in_pauses) as p (path text)
      where (select n.state from node_runs n where n.run_id = in_run_id and n.path = p.path) = 'CANCELLED');
  end if;

  if in_state = 'PAUSED' then
    waits := exists (
      -- Opened by a write that is repeated, a pause may have been answered in between.
      select from jsonb_to_recordset(in_pauses) as p (pause_id uuid, path text)
      where coalesce((select known.status from run_pauses known where known.pause_id = p.pause_id limit 1), 'waiting') = 'waiting'
        and p.path <> all (given_up)
    ) or exists (
      select from run_pauses p where p.run_id = in_run_id and p.status = 'waiting' and p.pause_id <> all (in_taken)
        and p.path <> all (given_up)
    ) or exists (
      select from run_shown_pauses shown join run_pauses p using (pause_id) where shown.run_id = in_run_id and p.status = 'waiting'
    );
  end if;
  new_state := case
    when not is_open then old_state
    when in_state is null or in_state = 'PAUSED' and not waits then case old_state when 'PENDING' then 'RUNNING' else old_state end
    when in_state = 'RESUMED' and old_state = 'PENDING' then 'RUNNING'
    else in_state end;
  changes := new_state <> old_state;
  ends := changes and is_run_end(new_state);
  begins := old_state = 'PENDING' and changes and in_temporal_run_id is not null;

  -- Ahead of the nodes: which events are new is told by what is recorded of them, and what is cited by those that ended before. Those
  -- that search write their end by themselves.
  if in_events <> '[]' or changes then
    insert into run_events (run_id, seq, org_id, type, at, data)
    select in_run_id, run.event_seq + row_number() over (order by e.part, e.ord), run.org_id, e.type, e.at, e.data
    from (
      select 0 as part, 0::bigint as ord, 'run.state' as type, in_started_at as at, jsonb_build_object('state', 'RUNNING') as data
      where begins
      union all
      select 1, e.ord, e.type, e.at, e.data
      from rows from (jsonb_to_recordset(in_events) as (type text, at timestamptz, data jsonb)) with ordinality as e (type, at, data, ord)
      -- A write that is retried, because its first success went unconfirmed, adds no event twice.
      -- One look-up a node, through the index: planned on a small table, a join would read all of it, and go on so as it grows.
      left join lateral (
        select path, state, attempts, error from node_runs where run_id = in_run_id and path = e.data ->> 'path' limit 1
      ) as recorded on true
      where is_open and (recorded.path is null or not is_node_end(recorded.state) and case e.type
        when 'node.started' then false
        when 'node.retrying' then recorded.attempts < (e.data ->> 'attempt')::integer or recorded.error is null and e.data ->> 'error' is not null
        else true
      end)
      union all
      select 2, 0, 'run.state', clock_timestamp(), jsonb_build_object('state', new_state, 'reason', in_reason)
      where changes and new_state <> 'RUNNING'
      union all
      select 3, 0, 'run.paused', clock_timestamp(), jsonb_build_object('run_id', in_run_id) where changes and new_state = 'PAUSED'
      union all
      select 3, 0, 'run.finished', clock_timestamp(), jsonb_build_object('run_id', in_run_id, 'state', new_state, 'error', in_error)
      where ends
    ) as e;
    get diagnostics added = row_count;
  end if;
  if changes and new_state <> 'RUNNING' then cited := run_citations(in_run_id); end if;

  if is_open and in_nodes <> '[]' then
    with written as (
      insert into node_runs (run_id, path, org_id, node_id, type, state, attempts, inputs, output, truncated, error, started_at,
        finished_at, next_attempt_at, citations, reused, long_values, usage)
      select in_run_id, n.path, run.org_id, n.node_id, n.type, n.state, n.attempts, n.inputs, n.output, coalesce(n.truncated, false),
        n.error, n.started_at, n.finished_at, n.next_attempt_at, n.citations, coalesce(n.reused, false),
        n.long_values,
        -- Its calls were written before its end.
        case when n.type in ('llm', 'router', 'audio', 'image') and n.finished_at is not null then node_usage(in_run_id, n.path) end
      from jsonb_to_recordset(in_nodes) as n (path text, node_id text, type text, state text, attempts integer, inputs jsonb,
        output jsonb, truncated boolean, error jsonb, started_at timestamptz, finished_at timestamptz, next_attempt_at timestamptz,
        citations jsonb, reused boolean, long_values jsonb)
      on conflict (run_id, path) do update set state = excluded.state, attempts = excluded.attempts,
        inputs = coalesce(excluded.inputs, node_runs.inputs), output = excluded.output, truncated = excluded.truncated,
        error = excluded.error, started_at = coalesce(node_runs.started_at, excluded.started_at), finished_at = excluded.finished_at,
        next_attempt_at = excluded.next_attempt_at, citations = excluded.citations, reused = excluded.reused,
        usage = coalesce(excluded.usage, node_runs.usage),
        -- Inputs of an earlier report stay, and with them where they are whole.
        long_values = case
          when excluded.inputs is null and node_runs.long_values ? 'inputs'
            then coalesce(excluded.long_values, '{}') || jsonb_build_object('inputs', node_runs.long_values -> 'inputs')
          else excluded.long_values end
      -- A record that comes late (an activity that was cancelled, a worker thought dead) does not undo a node's end.
      where not is_node_end(node_runs.state)
      returning path
    )
    select coalesce(array_agg(written.path), '{}') into changed_nodes from written;
  end if;

  if cardinality(in_taken) > 0 then
    update run_pauses set delivered_at = now() where pause_id = any (in_taken) and run_id = in_run_id and delivered_at is null;
  end if;
  if ends or cardinality(given_up) > 0 then
    -- One that has an answer keeps it; it is not sent again.
    update run_pauses set status = case status when 'waiting' then 'cancelled' else status end,
      resolved_at = coalesce(resolved_at, now()), delivered_at = coalesce(delivered_at, now())
    where run_id = in_run_id and (path = any (given_up) or ends and status = 'waiting');
  end if;
  if is_open and in_pauses <> '[]' then
    insert into run_pauses (pause_id, run_id, org_id, workflow_id, node_id, path, kind, message, data, form, actions,
      required_approvals, assignees, expires_at, on_timeout, status)
    select p.pause_id, in_run_id, run.org_id, p.workflow_id, p.node_id, p.path, p.kind, p.message, p.data, p.form, p.actions,
      p.required_approvals, p.assignees, p.expires_at, p.on_timeout, case when p.path = any (given_up) then 'cancelled' else 'waiting' end
    from jsonb_to_recordset(in_pauses) as p (pause_id uuid, workflow_id text, node_id text, path text, kind text, message text,
      data jsonb, form jsonb, actions jsonb, required_approvals integer, assignees jsonb, expires_at timestamptz, on_timeout text)
    on conflict do nothing;
    insert into run_pause_texts (pause_id, org_id, data, form)
    select p.pause_id, run.org_id, p.data_text::json, p.form_text::json
    from jsonb_to_recordset(in_pauses) as p (pause_id uuid, data_text text, form_text text)
    where p.data_text is not null and p.form_text is not null
    on conflict do nothing;
    insert into run_shown_pauses (run_id, pause_id, org_id, distance, path)
    select shown.run_id, p.pause_id, run.org_id, shown.distance, shown.path
    from jsonb_to_recordset(in_pauses) as p (pause_id uuid, shown_in jsonb),
      rows from (jsonb_to_recordset(p.shown_in) as (run_id uuid, path text)) with ordinality as shown (run_id, path, distance)
    -- The row of a run around this one may have been removed with its project.
    where exists (select from runs r where r.run_id = shown.run_id)
    on conflict do nothing;
  end if;

  if changes and in_checkpoint is not null then
    insert into run_checkpoints (run_id, org_id, nodes) values (in_run_id, run.org_id, in_checkpoint) on conflict (run_id) do nothing;
  end if;

  if changes then
    is_part := run.run_type in ('batch', 'sub_workflow');
    insert into outbox (event_id, org_id, type, project_id, data)
    -- From the application: Postgres makes ids that are in the order of time from version 18 on only.
    select in_event_ids[change.place], run.org_id, case when is_part then 'part.' else 'run.' end || change.name, run.project_id,
      jsonb_build_object('run_id', in_run_id, 'project_id', run.project_id, 'flow_version', run.flow_version, 'run_type', run.run_type,
        'parent_run_id', run.parent_run_id, 'state', change.state, 'state_reason', in_reason, 'error', in_error)
      || case when change.state = 'COMPLETED' then event_outputs(in_outputs, in_max_event_bytes) else '{}' end
    from (values (1, 'started', 'RUNNING', begins), (2, lower(new_state), new_state, new_state <> 'RUNNING'))
      as change (place, name, state, happens)
    -- Of parts their experiment, or the run around them, tells. Only a monitor can ask for their ends, in events of which nobody else
    -- is told.
    where change.happens and (not is_part or is_run_end(change.state) and exists (
      select from eval_monitors m where m.project_id = run.project_id and m.enabled and m.deleted_at is null
        and m.filter -> 'run_types' ? run.run_type))
    order by change.place;
  end if;

  if ends then used := run_usage(in_run_id); end if;
  update runs r set
    state = new_state,
    state_reason = case when changes then in_reason else r.state_reason end,
    outputs = case when changes then coalesce(in_outputs, r.outputs) else r.outputs end,
    citations = case when changes and new_state <> 'RUNNING' then cited else r.citations end,
    usage = coalesce(used, r.usage),
    error = case when changes then coalesce(in_error, r.error) else r.error end,
    temporal_run_id = coalesce(in_temporal_run_id, r.temporal_run_id),
    start_input = case when old_state = 'PENDING' then '{}' else r.start_input end,
    started_at = coalesce(r.started_at, in_started_at),
    paused_at = case when changes and new_state = 'PAUSED' then clock_timestamp() else r.paused_at end,
    finished_at = case when ends then clock_timestamp() else r.finished_at end,
    total_nodes = greatest(r.total_nodes, (in_progress ->> 'total_nodes')::integer),
    started_nodes = greatest(r.started_nodes, (in_progress ->> 'started_nodes')::integer),
    completed_nodes = greatest(r.completed_nodes, (in_progress ->> 'completed_nodes')::integer),
    skipped_nodes = greatest(r.skipped_nodes, (in_progress ->> 'skipped_nodes')::integer),
    current_node = coalesce(in_progress ->> 'current_node', r.current_node),
    event_seq = r.event_seq + added,
    updated_at = clock_timestamp(),
    check_at = clock_timestamp() + make_interval(secs => in_check_after_ms / 1000)
  where r.run_id = in_run_id
  returning r.* into run;

  project := run.project_id;
  latency_ms := 1000 * extract(epoch from clock_timestamp() - greatest(run.created_at, run.run_at));
  if in_state is null then run := null; end if;
end
$$;
