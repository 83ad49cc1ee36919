-- Runs of drafts. What such a run executes is kept as a version with a number below -1, which no list of versions shows: so plans,
-- rights and records find it as they find any version.
alter table projects add column frozen_drafts integer not null default 0;

alter table flow_versions drop constraint flow_versions_version_check;
alter table flow_versions add constraint flow_versions_version_check check (version > 0 or version < -1);
drop index flow_versions_content_key;
create unique index flow_versions_content_key on flow_versions (project_id, content_hash) where version > 0;

-- The rows that are there satisfied the narrower one.
alter table runs drop constraint runs_run_type_check;
alter table runs add constraint runs_run_type_check
  check (run_type in ('api', 'batch', 'trigger', 'scheduled', 'sub_workflow', 'draft')) not valid;

-- Runs of drafts notify no webhook, no trigger and no monitor. As of 0081, but for this line.
do $$
declare
  parts constant text := $q$run.run_type in ('batch', 'sub_workflow')$q$;
  before constant text := pg_get_functiondef('record_run'::regproc);
begin
  if position(parts in before) = 0 then raise exception 'record_run is not the one of 0081'; end if;
  execute replace(before, parts, $q$run.run_type in ('batch', 'sub_workflow', 'draft')$q$);
end
$$;
