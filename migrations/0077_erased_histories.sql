-- Executions whose histories an erasure has counted: a worker that dies counts none of them twice.
alter table erasure_items drop constraint erasure_items_kind_check;
alter table erasure_items add constraint erasure_items_kind_check
  check (kind in ('run', 'document', 'dataset_row', 'score', 'experiment_job', 'history'));
