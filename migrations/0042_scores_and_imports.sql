-- What of a row a record of an import speaks of: an upsert leaves the rest as it is.
alter table eval_import_rows add column given text[] not null default '{inputs,expected_outputs,metadata,split,tags}';

-- Scores can be corrected: {by, at, value, passed, comment, error} is what was said first. They are listed across runs.
alter table scores add column corrected jsonb, add column revision integer not null default 1;
create index scores_org_idx on scores (org_id, score_id);
create index scores_of_evaluator_idx on scores (evaluator_id, score_id) where evaluator_id is not null;
