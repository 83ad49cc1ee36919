-- What an experiment's scores come to so far is worked out once in a while as it runs, not for each reader.
alter table experiments add column progress jsonb, add column progress_due_at timestamptz;
