-- Null where the caller did not say what is to become of records that cannot be read.
alter table eval_imports alter column on_error drop not null;
