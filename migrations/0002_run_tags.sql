-- Runs by tag, in the order of their ids. A GIN index on runs.tags cannot serve this: array operators are not leakproof,
-- so Postgres never uses it under row-level security, and it has no order to page in.
create table run_tags (
  org_id  uuid not null,
  tag     text not null,
  run_id  uuid not null references runs on delete cascade,
  primary key (org_id, tag, run_id)
);
create index run_tags_run_idx on run_tags (run_id);

create function copy_run_tags() returns trigger language plpgsql as $$
begin
  insert into run_tags (org_id, tag, run_id) select new.org_id, tag, new.run_id from unnest(new.tags) as tag on conflict do nothing;
  return null;
end
$$;
-- Tags are given with a run and never change.
create trigger runs_tags after insert on runs for each row when (new.tags <> '{}') execute function copy_run_tags();
insert into run_tags (org_id, tag, run_id) select org_id, tag, run_id from runs cross join unnest(tags) as tag on conflict do nothing;
drop index runs_tags_idx;

-- What a project's page asks for: its failed runs among a million that went well.
create index runs_org_project_state_idx on runs (org_id, project_id, state, run_id desc);

alter table run_tags enable row level security;
create policy org_rows on run_tags to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on run_tags to millrace_app;
