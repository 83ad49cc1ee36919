-- Who holds a key: what a request does to its key counts only while nobody has taken the key over since.
alter table idempotency_keys add column lease_id uuid not null default gen_random_uuid();
