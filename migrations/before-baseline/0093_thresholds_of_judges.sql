-- A judge whose author named no threshold got 0.7 whatever its scale: on 1 to 10 the worst value passed. Where the scale is
-- another than 0 to 1, 0.7 is replaced by what a judge gets by default now. Recorded scores and verdicts stay as they are.
create function pg_temp.on_its_scale(definition jsonb) returns jsonb language plpgsql as $$
declare
  least numeric := (definition #>> '{config,scale,min}')::numeric;
  most numeric := (definition #>> '{config,scale,max}')::numeric;
  share numeric := case definition #>> '{score,direction}' when 'minimize' then 0.3 else 0.7 end;
begin
  if definition ->> 'type' = 'composite' then
    return jsonb_set(definition, '{config,parts}', (
      select jsonb_agg(pg_temp.on_its_scale(part) order by place)
        from jsonb_array_elements(definition #> '{config,parts}') with ordinality parts(part, place)));
  end if;
  if definition ->> 'type' <> 'llm_judge' or least is null or (least = 0 and most = 1)
      or definition #> '{score,pass_threshold}' is distinct from '0.7' then
    return definition;
  end if;
  return jsonb_set(definition, '{score,pass_threshold}', to_jsonb(trim_scale(round(least * (1 - share) + most * share, 12))));
end
$$;

update evaluator_versions set definition = pg_temp.on_its_scale(definition)
  where definition ->> 'type' in ('llm_judge', 'composite') and pg_temp.on_its_scale(definition) <> definition;
