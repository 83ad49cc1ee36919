-- When a version was published first; null: never. A public key runs no version that was never published.
alter table flow_versions add column first_published_at timestamptz;
update flow_versions v set first_published_at = now()
from projects p where p.project_id = v.project_id and p.published_version = v.version;
