-- The revision of a trigger whose schedule Temporal has refused: it is not asked again until the trigger is changed.
alter table triggers add column refused_revision integer;
-- A connection that a trigger uses stays.
create index triggers_connection_idx on triggers (org_id, (config->>'connection_id')) where deleted_at is null and config ? 'connection_id';
