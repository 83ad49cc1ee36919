-- Versions and triggers keep the rights of who deployed or set them (src/domain/accounts/kept-rights.ts). Null, as of all that is
-- older: those of the organisation, because what its user could do then is not known. A key's projects never change, so what keys
-- with projects have made gets their rights.
alter table flow_versions add column rights jsonb;
alter table triggers add column rights jsonb;

update flow_versions v
  set rights = jsonb_build_object('type', 'org_api_key', 'id', k.key_id, 'role', 'admin', 'grants', null, 'projects', k.projects)
  from api_keys k where k.org_id = v.org_id and k.key_id = v.created_by and k.projects is not null;
update triggers t
  set rights = jsonb_build_object('type', 'org_api_key', 'id', k.key_id, 'role', 'admin', 'grants', null, 'projects', k.projects)
  from api_keys k where k.org_id = t.org_id and k.key_id = t.created_by and k.projects is not null;
