-- All runs that experiments have made of a row of a dataset.
create index runs_dataset_row_idx on runs ((metadata ->> 'row_id')) where run_type = 'batch';
