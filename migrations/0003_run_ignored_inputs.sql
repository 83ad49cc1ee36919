-- Members of an inference call's body that no input takes: its later answers report them as the first one did.
alter table runs add column ignored_inputs text[] not null default '{}';
