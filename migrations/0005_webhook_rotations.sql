-- The rotation that put the present secret there: when its answer was lost, the repeated request finds it made.
alter table webhook_subscriptions add column rotation_id uuid;
