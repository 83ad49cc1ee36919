-- Of the runs whose firings are still there. Apart from the column, so that nobody waits for the table meanwhile.
update runs r set caused_by = (o.data ->> 'run_id')::uuid
  from trigger_firings f join outbox o on o.org_id = f.org_id and o.event_id::text = f.key
  where r.run_id = f.run_id and r.org_id = f.org_id and r.caused_by is null and length(o.data ->> 'run_id') = 36;
update runs r set caused_by = f.key::uuid
  from trigger_firings f
  where r.run_id = f.run_id and r.org_id = f.org_id and f.trigger_id is null and r.caused_by is null and f.key <> r.run_id::text
    and f.key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
