-- Judges of evaluators call models as well: for no run, whose usage they are not, and for no project where a sample is written by hand.
alter table model_calls alter column run_id drop not null, alter column project_id drop not null;
