-- What a key may do less than others of its kind; null and false: no limit.
alter table api_keys
  add column scopes text[],
  add column read_only boolean not null default false,
  add column projects uuid[],
  add column allowed_origins text[],
  add column allowed_addresses text[];
