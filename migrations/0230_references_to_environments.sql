-- Flows that name an environment of another project, so that it is not renamed or deleted under them.
insert into flow_references (project_id, version, org_id, kind, target_id)
select distinct v.project_id, v.version, v.org_id, 'environment', lower(call ->> 'project_id') || '/' || (call ->> 'environment')
from flow_versions v, jsonb_path_query(v.definition, '$.** ? (@.project_id.type() == "string" && @.environment.type() == "string")') call
on conflict do nothing;
