-- Workers listen for new events. Commits with a NOTIFY wait for each other, so none is sent where nobody waits for one, be it a
-- subscription or a trigger: the relays find those events by themselves after some seconds.
create or replace function notify_event() returns trigger language plpgsql as $$
begin
  if exists (select from webhook_subscriptions s where s.org_id = new.org_id and s.status = 'enabled' and s.deleted_at is null)
    or exists (select from triggers t where t.org_id = new.org_id and t.kind = 'run_event' and t.enabled and t.deleted_at is null) then
    perform pg_notify('millrace_webhooks', 'events');
  end if;
  return null;
end
$$;
