-- The rows hold the schedule of deliveries: an open one is due at next_attempt_at, its first attempt included. Whoever makes
-- an attempt claims it first: the number of claims rises, and the delivery is due again when the claim ends unrecorded.

update webhook_deliveries set next_attempt_at = case when status in ('pending', 'retrying') then coalesce(next_attempt_at, now()) end
where (next_attempt_at is not null) <> (status in ('pending', 'retrying'));

alter table webhook_deliveries
  drop column leased_until,
  drop column swept_at,
  add column claim integer not null default 0,
  alter column next_attempt_at set default now(),
  add constraint webhook_deliveries_schedule check ((status in ('pending', 'retrying')) = (next_attempt_at is not null));

drop index webhook_deliveries_pending_idx;
drop index webhook_deliveries_retrying_idx;
create index webhook_deliveries_due_idx on webhook_deliveries (subscription_id, next_attempt_at, delivery_id) include (status)
  where status in ('pending', 'retrying');

-- Workers listen for new events. Commits with a NOTIFY wait for each other, so none is sent where nobody subscribes: the
-- relays find those events by themselves after some seconds.
create function notify_event() returns trigger language plpgsql as $$
begin
  if exists (select from webhook_subscriptions s where s.org_id = new.org_id and s.status = 'enabled' and s.deleted_at is null) then
    perform pg_notify('millrace_webhooks', 'events');
  end if;
  return null;
end
$$;
create trigger outbox_notify after insert on outbox for each row when (new.relayed_at is null) execute function notify_event();
