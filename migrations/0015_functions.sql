-- Functions that read the tables above. Each file in functions/ is the present text: a migration that changes one includes it again.
-- sha256 6df4682891f4
\ir functions/words.sql
-- sha256 6dfbfca99c65
\ir functions/record_run.sql
-- sha256 4715212f4e47
\ir functions/quotas.sql
-- sha256 05e1c73a4bf0
\ir functions/partitions.sql
