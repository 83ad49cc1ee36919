-- What each version of a flow refers to: deploys check that it is there, and what a published version uses is not deleted.
create table flow_references (
  project_id  uuid not null,
  version     integer not null,
  org_id      uuid not null,
  -- Words of ReferenceKind (src/domain/flow/nodes/spec.ts).
  kind        text not null,
  target_id   text not null,
  primary key (project_id, version, kind, target_id),
  foreign key (project_id, version) references flow_versions
);
create index flow_references_target_idx on flow_references (org_id, kind, target_id);

insert into flow_references (project_id, version, org_id, kind, target_id)
select distinct v.project_id, v.version, v.org_id, known.kind, lower(target #>> '{}')
from flow_versions v
cross join (values
  ('project', '$.** ? (@.type == "subflow").config.project_id'::jsonpath),
  ('knowledge_base', '$.** ? (@.type == "knowledge").config.knowledge_base_id'::jsonpath)
) known (kind, place)
cross join jsonb_path_query(v.plan, known.place) target;

alter table flow_references enable row level security;
create policy org_rows on flow_references to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on flow_references to millrace_app;
