/** A table `around` for a recursive query: a run and those around it, the run itself at level 0. `run`: the parameter with its id. */
export const aroundRun = (run: `$${number}`): string => `around as (
    select run_id, parent_run_id, project_id, flow_version, ran_by_type, ran_by_id, state, cancel_requested, 0 as level
    from runs where run_id = ${run}::uuid
    union all
    select r.run_id, r.parent_run_id, r.project_id, r.flow_version, r.ran_by_type, r.ran_by_id, r.state, r.cancel_requested, level + 1
    from around join runs r on r.run_id = around.parent_run_id)`;
