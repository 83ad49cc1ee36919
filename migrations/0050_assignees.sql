-- Who may answer a pause: {"users": [ids and e-mail addresses], "roles": []}; null: everybody who may resume runs.
alter table run_pauses add column assignees jsonb;
create index run_pauses_assigned_idx on run_pauses (org_id, pause_id) where assignees is not null;
