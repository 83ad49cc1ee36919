-- From now on each recorded model call adds to the months that are counted, also where nothing limits them. Sums of before may be
-- stale where there was no limit.

-- A statement of its own: the sums must include what is added until the rows are locked.
do $$
begin
  perform from quota_usage where what = 'model_usd_month' for update;
end
$$;
update quota_usage u
set used = (select coalesce(sum(m.cost_usd), 0) from model_calls m
  where m.org_id = u.org_id and m.created_at >= u.period and (u.key_id is null or m.key_id = u.key_id))
where what = 'model_usd_month' and period >= date_trunc('month', now() at time zone 'UTC') at time zone 'UTC';
