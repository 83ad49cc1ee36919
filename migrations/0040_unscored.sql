-- A status says how many of the expected scores are missing. Of experiments that have ended it follows from what their result has.
update experiments set progress = null, progress_due_at = null where progress is not null;
update experiments e set result = e.result || jsonb_build_object(
    'unrun', 0,
    'per_evaluator', n.per_evaluator,
    'scores', e.result->'scores' || jsonb_build_object('unscored', n.unscored))
from (
  select x.experiment_id, coalesce(sum(greatest(0, c.ended - (s.value->>'n')::int)), 0) as unscored,
    coalesce(jsonb_agg(s.value || jsonb_build_object(
      'passed', coalesce(round((s.value->>'pass_rate')::float8 * (s.value->>'n')::int), 0),
      'expected', c.ended,
      'unscored', greatest(0, c.ended - (s.value->>'n')::int)) order by s.place) filter (where s.value is not null), '[]') as per_evaluator
  from experiments x
  cross join lateral (select (x.result->'counts'->>'completed')::int + (x.result->'counts'->>'failed')::int
    + (x.result->'counts'->>'cancelled')::int) c(ended)
  left join lateral jsonb_array_elements(x.result->'per_evaluator') with ordinality s(value, place) on true
  where x.result is not null group by 1) n
where n.experiment_id = e.experiment_id;
