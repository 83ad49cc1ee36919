-- What an organisation's people are asked, over all its runs.
create index run_pauses_org_idx on run_pauses (org_id, pause_id);
create index run_pauses_open_idx on run_pauses (org_id, pause_id) where status = 'waiting';
