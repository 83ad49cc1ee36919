import { RUN_STATES, RUN_TYPES, type RunFilters, type RunState } from "../../api/runs.ts";

const TEXTS = [
  "project_id",
  "environment",
  "user_id",
  "tag",
  "parent_run_id",
  "resumed_from",
  "created_after",
  "created_before",
] as const;

/** The run filters in a URL; unknown parameters are ignored. */
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

/** The order of the list; newest first unless the URL asks otherwise. */
export const orderOf = (search: URLSearchParams): "asc" | "desc" => (search.get("order") === "asc" ? "asc" : "desc");

/** The same query with one filter changed; null and "" remove it. */
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
