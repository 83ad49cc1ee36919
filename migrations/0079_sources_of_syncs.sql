-- The sources that a sync reads: those that its knowledge base had when it was asked for. Items refer to them by number, so
-- a change of the knowledge base must not reach a sync that runs. Null once it has ended, and for syncs from before.
alter table knowledge_syncs add column sources jsonb;
