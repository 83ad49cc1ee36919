-- Relays take the events of one organisation after the other.
create index outbox_waiting_org_idx on outbox (org_id, seq) where relayed_at is null;
drop index outbox_waiting_idx;
