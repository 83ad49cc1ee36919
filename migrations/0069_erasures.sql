-- What removes everything of one end user from an organisation or a project, and its report.
create table erasures (
  erasure_id       uuid primary key,
  org_id           uuid not null references organisations,
  -- Null: in all projects.
  project_id       uuid references projects on delete cascade,
  -- Null once it is done: from then on there is only its hash.
  user_id          text,
  user_hash        text not null,
  state            text not null default 'PENDING' check (state in ('PENDING', 'RUNNING', 'COMPLETED')),
  -- Where it goes on; see src/domain/erasures/erasure.ts.
  progress         jsonb not null,
  -- By store, how much has been removed. Written with what it counts.
  removed          jsonb not null default '{}',
  remaining        jsonb not null default '[]',
  problem          text,
  created_by_type  text not null,
  created_by_id    uuid not null,
  created_at       timestamptz not null default now(),
  started_at       timestamptz,
  finished_at      timestamptz,
  -- Until then one process has it in hand.
  leased_until     timestamptz not null default now(),
  check ((user_id is null) = (finished_at is not null))
);
create index erasures_org_idx on erasures (org_id, erasure_id);
create unique index erasures_open_key on erasures (org_id, user_id, project_id) nulls not distinct where finished_at is null;

-- What is found. Removed with the end of the erasure.
create table erasure_items (
  erasure_id  uuid not null references erasures on delete cascade,
  org_id      uuid not null,
  kind        text not null check (kind in ('run', 'document', 'dataset_row', 'score', 'experiment_job')),
  item_id     uuid not null,
  removed     boolean not null default false,
  -- Whether Temporal may have a workflow of it.
  has_history boolean not null,
  primary key (erasure_id, item_id)
);
create index erasure_items_left_idx on erasure_items (erasure_id, kind, item_id) where not removed;
create index erasure_items_histories_idx on erasure_items (erasure_id, item_id) where has_history;

-- Keys that removed rows referred to: the blobs go unless other rows refer to them.
create table erasure_blobs (
  erasure_id  uuid not null references erasures on delete cascade,
  org_id      uuid not null,
  key         text not null,
  primary key (erasure_id, key)
);

do $$
declare
  name text;
begin
  foreach name in array array['erasures', 'erasure_items', 'erasure_blobs'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy org_rows on %I to millrace_app using (org_id = current_org()) with check (org_id = current_org())', name);
    execute format('grant select, insert, update, delete on %I to millrace_app', name);
  end loop;
end
$$;

-- What is made of a run is found by it.
create index eval_dataset_rows_source_idx on eval_dataset_rows (source_run_id) where source_run_id is not null;
create index run_traces_linked_idx on run_traces (linked_run_id) where linked_run_id is not null;
create index trigger_firings_org_key_idx on trigger_firings (org_id, key);

-- Entries stay as they are, but for the values of a user who is erased: who has done what and when stays then, too.
create function refuse_update_unless_erasing() returns trigger language plpgsql as $$
begin
  if current_setting('millrace.erasing', true) is distinct from 'on'
    or (to_jsonb(new) - 'changes' - 'target_id') is distinct from (to_jsonb(old) - 'changes' - 'target_id') then
    raise exception '% is never changed', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
drop trigger audit_log_never_changed on audit_log;
create trigger audit_log_never_changed before update on audit_log for each row execute function refuse_update_unless_erasing();
drop function refuse_update();
