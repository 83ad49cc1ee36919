-- Events of runs name the environment of their run.
-- sha256 0fcb9aeefccd
\ir functions/record_run.sql
