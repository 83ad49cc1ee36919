-- Calls of models: what each cost, and which connection an organisation's nodes use where they name none.

create table organisation_settings (
  org_id                 uuid primary key references organisations,
  default_connection_id  uuid references connections on delete set null,
  default_model          text,
  updated_at             timestamptz not null default now()
);
alter table organisation_settings enable row level security;
create policy org_rows on organisation_settings to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on organisation_settings to millrace_app;

-- Append-only: one row a call that may have been paid for.
create table model_calls (
  call_id        uuid primary key,
  org_id         uuid not null references organisations,
  project_id     uuid not null,
  run_id         uuid not null,
  -- Place of the node in the run, e.g. "map-0[3]/llm-0"; attempt of the node, and step of its conversation, from 1.
  path           text not null,
  attempt        integer not null,
  step           integer not null,
  model          text not null,
  connection_id  uuid,
  input_tokens   bigint not null,
  output_tokens  bigint not null,
  cached_tokens  bigint not null,
  -- Null where the model has no price.
  cost_usd       numeric(18, 9),
  latency_ms     integer not null,
  -- Why the model stopped, or the code of the failure.
  finish_reason  text not null,
  -- Whether the tokens are estimated from the length of the texts, because the endpoint could not say.
  estimated      boolean not null,
  created_at     timestamptz not null default now()
);
create index model_calls_run_idx on model_calls (run_id);
create index model_calls_org_idx on model_calls (org_id, created_at);
alter table model_calls enable row level security;
create policy org_rows on model_calls to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, delete on model_calls to millrace_app;
