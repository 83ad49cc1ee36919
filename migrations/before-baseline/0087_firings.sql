-- What became of a firing, for the list of a trigger's firings. `started`: it has a run; `failed`: it has none, and error
-- says why. All that are not due have been started; firings that failed were removed until now.
alter table trigger_firings
  add column state text not null default 'started' check (state in ('pending', 'started', 'failed')),
  add column error text,
  -- The firing whose payload a person had repeated.
  add column repeat_of uuid;
alter table trigger_firings alter column state set default 'pending';
update trigger_firings set state = 'pending' where due_at is not null;

create index trigger_firings_page_idx on trigger_firings (trigger_id, run_id);
create index trigger_firings_state_idx on trigger_firings (trigger_id, state, run_id);
-- For the last run of a trigger, however many firings have failed since.
drop index trigger_firings_last_idx;
create index trigger_firings_last_idx on trigger_firings (trigger_id, created_at desc) where state <> 'failed';
-- What was made from a firing is erased with it.
create index trigger_firings_repeat_idx on trigger_firings (repeat_of) where repeat_of is not null;
