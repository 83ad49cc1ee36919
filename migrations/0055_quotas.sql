-- Quotas of organisations and keys, and what is used of them.
create table quotas (
  org_id uuid not null references organisations,
  -- Null: of the whole organisation.
  key_id uuid references api_keys,
  what   text not null check (what in ('concurrent_runs', 'runs_per_minute', 'storage_bytes', 'model_usd_month')),
  most   numeric not null check (most >= 0),
  unique nulls not distinct (org_id, key_id, what)
);

create table quota_usage (
  org_id      uuid not null references organisations,
  key_id      uuid references api_keys,
  what        text not null,
  -- Beginning of the time that `used` is of: a minute, a month; of what is not of a time, when it was counted.
  period      timestamptz not null,
  used        numeric not null,
  -- 1: the warning was given, 2: that the quota is reached.
  notified    smallint not null default 0,
  notified_at timestamptz,
  unique nulls not distinct (org_id, key_id, what)
);

-- What calls of models under way may cost at most. Each is replaced by the call's cost; one whose process died expires.
create table cost_reservations (
  call_id    uuid primary key,
  org_id     uuid not null references organisations,
  key_id     uuid,
  run_id     uuid,
  path       text not null,
  amount     numeric not null,
  expires_at timestamptz not null
);
create index cost_reservations_org_idx on cost_reservations (org_id);
create index cost_reservations_run_idx on cost_reservations (run_id);

-- The key that the outermost run of a call was started with.
alter table model_calls add column key_id uuid;

create index runs_open_of_key_idx on runs (org_id, ran_by_id) where state in ('PENDING', 'RUNNING', 'PAUSED', 'RESUMED');

alter table quotas enable row level security;
create policy org_rows on quotas to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on quotas to millrace_app;
alter table quota_usage enable row level security;
create policy org_rows on quota_usage to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on quota_usage to millrace_app;
alter table cost_reservations enable row level security;
create policy org_rows on cost_reservations to millrace_app using (org_id = current_org()) with check (org_id = current_org());
grant select, insert, update, delete on cost_reservations to millrace_app;

-- Notes what is used of a quota, and writes the event where a use crosses 80 or 100 % of it. Answers what is used then. `in_add`: `in_used`
-- is added to what the same period has. The row stays locked until the transaction ends.
create function use_quota(
  in_org uuid, in_key uuid, in_what text, in_period timestamptz, in_used numeric, in_add boolean, in_most numeric,
  in_resets_at timestamptz, in_event_id uuid
) returns numeric language plpgsql as $$
declare
  usage quota_usage;
  level smallint;
begin
  insert into quota_usage as u (org_id, key_id, what, period, used) values (in_org, in_key, in_what, in_period, round(in_used, 9))
  on conflict (org_id, key_id, what) do update set
    used = case when in_add and (in_resets_at is null or u.period >= excluded.period) then u.used + excluded.used else excluded.used end,
    period = case when in_add and in_resets_at is null then u.period else greatest(u.period, excluded.period) end,
    -- Of one minute after the other no more is said than once an hour; of a new month everything again.
    notified = case when in_resets_at is not null and u.period < excluded.period
        and (in_what <> 'runs_per_minute' or u.notified_at < now() - interval '1 hour')
      then 0 else u.notified end
  returning * into usage;
  if in_most is null then return usage.used; end if;
  level := case when usage.used >= in_most then 2 when usage.used >= 0.8 * in_most then 1 else 0 end;
  if level > usage.notified then
    insert into outbox (event_id, org_id, type, data)
    values (in_event_id, in_org, case level when 2 then 'quota.reached' else 'quota.warning' end,
      jsonb_build_object('quota', in_what, 'key_id', in_key, 'limit', in_most, 'used', usage.used, 'resets_at', in_resets_at));
  end if;
  -- What goes down again is told of again when half of it was free meanwhile.
  if level > usage.notified or usage.notified > 0 and not in_add and usage.used < 0.5 * in_most then
    update quota_usage set notified = level, notified_at = now()
    where org_id = in_org and key_id is not distinct from in_key and what = in_what;
  end if;
  return usage.used;
end
$$;
