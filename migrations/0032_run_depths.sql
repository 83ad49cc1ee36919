-- How deep a run is counts also where an action of another run, and no trigger, has started it.
alter table trigger_firings alter column trigger_id drop not null;
