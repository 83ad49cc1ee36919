-- Entries stay as they are, but for the values of a user who is erased: who has done what and when stays then, too.
create or replace function refuse_update_unless_erasing() returns trigger language plpgsql as $$
begin
  if current_setting('millrace.erasing', true) is distinct from 'on'
    or (to_jsonb(new) - 'changes' - 'target_id') is distinct from (to_jsonb(old) - 'changes' - 'target_id') then
    raise exception '% is never changed', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
