-- Runs that Temporal cannot advance: few at any time, and counted often.
create index runs_stuck on runs (state, finished_at) where state_reason = 'stuck';
