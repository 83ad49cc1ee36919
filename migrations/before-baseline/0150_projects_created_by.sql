-- Who created a project: the ID of a user or of an API key. For earlier projects it is the one who deployed the first version.
alter table projects add column created_by uuid;

update projects p set created_by = v.created_by
  from flow_versions v where v.project_id = p.project_id and v.version = 1 and v.created_by is not null;
