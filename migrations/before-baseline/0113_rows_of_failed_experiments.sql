-- An experiment that failed left rows of which it said for ever that they run or will: nobody runs them.
update experiment_rows x set state = 'cancelled', scored = true
from experiments e
where x.experiment_id = e.experiment_id and x.state in ('pending', 'running') and e.state = 'FAILED';
-- Counted anew when somebody reads it.
update experiments set result = null
where state = 'FAILED' and ((result #>> '{counts,pending}')::int > 0 or (result #>> '{counts,running}')::int > 0);
