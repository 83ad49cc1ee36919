-- Why a monitor has not scored its runs, or looked at its alert, when it last should have.
alter table eval_monitors add column last_error text, add column last_error_at timestamptz;
