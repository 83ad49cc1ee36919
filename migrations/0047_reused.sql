-- Whether a run has taken a node, a step or a call over from the run that it resumes.
alter table node_runs add column reused boolean not null default false;

-- A digest of what the node asked: a step is taken over by a later run only where that asks the same. Rows at the place of a call
-- hold its output, where the record of it is shortened or masked.
alter table agent_steps add column asked text;
