import { RUN_STATES, RUN_TYPES } from "../../api/runs.ts";
import type { RunFilters, RunState } from "../../api/runs.ts";

const TEXTS = [
  "project_id",
  "user_id",
  "tag",
  "parent_run_id",
  "resumed_from",
  "created_after",
  "created_before",
] as const;

/** The filters in an address; what is none of theirs is left out. */
export function filtersOf(search: URLSearchParams): RunFilters {
  const state = search.getAll("state").filter((each): each is RunState => RUN_STATES.some((known) => known === each));
  const run_type = RUN_TYPES.find((each) => each === search.get("run_type"));
  const stuck = search.get("stuck");
  const texts = TEXTS.flatMap((name) => {
    const value = search.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(texts),
    ...(state.length > 0 && { state }),
    ...(run_type && { run_type }),
    ...(stuck !== null && { stuck: stuck === "true" }),
  };
}

/** The same address with one filter changed; null and nothing take it away. */
export function withFilter(
  search: URLSearchParams,
  name: string,
  value: string | readonly string[] | null,
): URLSearchParams {
  const next = new URLSearchParams(search);
  next.delete(name);
  const values = value === null ? [] : typeof value === "string" ? [value] : value;
  for (const each of values) if (each !== "") next.append(name, each);
  return next;
}
