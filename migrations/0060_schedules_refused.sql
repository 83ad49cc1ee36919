-- What Temporal has refused as a schedule, and why: it is not asked again until the row asks for something else.
alter table knowledge_bases add column refused_cron text, add column schedule_error text;
alter table eval_monitors add column refused_revision integer;
