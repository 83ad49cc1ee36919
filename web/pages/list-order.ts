import type { Order } from "../parts/list/list-order.ts";
import { useFilters } from "./filters.ts";

/** The order of a list, kept in the address: newest first unless it says otherwise. */
export function useListOrder(column: string, name = "order"): Order {
  const [search, put] = useFilters();
  return {
    column,
    value: search.get(name) === "asc" ? "asc" : "desc",
    onChange: (value) => put(name, value === "desc" ? null : value),
  };
}
