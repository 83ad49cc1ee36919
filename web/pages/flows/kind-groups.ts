import { useQuery } from "@tanstack/react-query";
import { nodeKindsOptions, type NodeKind } from "../../api/flows.ts";

const NONE: ReadonlyMap<string, string> = new Map();
const groupsOf = (kinds: readonly NodeKind[]): ReadonlyMap<string, string> =>
  new Map(kinds.map(({ type, group }) => [type, group]));

/** The group of each node type; empty until the catalogue has loaded. */
export function useKindGroups(): ReadonlyMap<string, string> {
  return useQuery({ ...nodeKindsOptions, select: groupsOf }).data ?? NONE;
}
