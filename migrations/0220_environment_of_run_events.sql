-- Events of runs name the environment of their run. Only this expression of the function changes, so the rest is not repeated here.
do $$
declare
  before text := pg_get_functiondef('record_run'::regproc);
  member text := $m$'run_type', run.run_type,$m$;
begin
  if strpos(before, member) = 0 then
    raise exception 'record_run does not write the data of events as expected';
  end if;
  execute replace(before, member, member || $m$ 'environment', run.environment,$m$);
end
$$;
