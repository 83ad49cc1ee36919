-- Rows that name the run they were made from in their metadata alone are found by it, too. Longer texts there are no id, and may be too
-- long for an index.
create index eval_dataset_rows_metadata_run_idx on eval_dataset_rows (lower(metadata ->> 'run_id'))
  where length(metadata ->> 'run_id') = 36;
