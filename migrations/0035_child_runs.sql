-- A child is found by the end of its id, which is made of the node that called it: not by reading all children of the run.
create index runs_child_end on runs (parent_run_id, right(run_id::text, 22)) where parent_run_id is not null;
