-- A delivery belongs to one organisation together with its event and its subscription: the keys say so, whatever the code does.

alter table outbox add constraint outbox_event_key unique (event_id, org_id);
alter table outbox drop constraint outbox_event_id_key;
alter table webhook_subscriptions add constraint webhook_subscriptions_org_key unique (subscription_id, org_id);

-- Events now stay as long as they have deliveries; these have lost theirs.
delete from webhook_deliveries d where not exists (select from outbox o where o.event_id = d.event_id and o.org_id = d.org_id);

alter table webhook_deliveries
  drop constraint webhook_deliveries_org_id_fkey,
  drop constraint webhook_deliveries_subscription_id_fkey,
  add constraint webhook_deliveries_subscription_fkey foreign key (subscription_id, org_id)
    references webhook_subscriptions (subscription_id, org_id),
  add constraint webhook_deliveries_event_fkey foreign key (event_id, org_id) references outbox (event_id, org_id);

alter table webhook_replays
  drop constraint webhook_replays_org_id_fkey,
  drop constraint webhook_replays_subscription_id_fkey,
  add constraint webhook_replays_subscription_fkey foreign key (subscription_id, org_id)
    references webhook_subscriptions (subscription_id, org_id);
