import { useQuery, type QueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { FlowScope } from "../../../api/flows.ts";
import { evaluatedOptions } from "../../../api/referables.ts";
import { fieldOf, nodeAt } from "../../../flow/access.ts";
import type { FlowDocument } from "../../../flow/document.ts";
import { splitPath } from "../canvas/graph-view.ts";
import { useEditor } from "../editor-context.ts";
import { valuesFor } from "./preview-texts.ts";
import { valuesSeen, type ScopeValue } from "./scope-values.ts";

/** What maps and loops give to the expressions inside. */
const INNER = ["item", "index", "last"] as const;
export type Inner = (typeof INNER)[number];
export const isInner = (kind: string): kind is Inner => INNER.some((each) => each === kind);

type LastOf = (value: ScopeValue) => { readonly value: unknown } | undefined;

interface Outer {
  /** Values by node path. */
  readonly known: ReadonlyMap<string, { readonly value: unknown; readonly iteration?: number }>;
  readonly lastOf: LastOf;
  /** Names the values. */
  readonly name: string;
}

export interface InnerValues {
  readonly of: (kind: Inner) => { readonly value: unknown } | undefined;
  readonly name: string;
  readonly isLoading: boolean;
}

/**
 * `item`, `index` and `last` of a node, each from the nearest map or loop that has it. They belong to the iteration whose
 * values are shown; the list of a map is computed by the API from these values.
 */
export function useInnerValues(nodePath: string, { known, lastOf, name }: Outer): InnerValues {
  const { scope, state } = useEditor();
  const { document } = state;
  const around = useMemo(() => aroundOf(scope, nodePath), [scope, nodePath]);
  const { item: map, index: nearest, last: loop } = around;
  const iteration = nearest === undefined ? undefined : iterationIn(known, nearest);
  const source = map === undefined ? "" : configOf(document, map, "items");
  const initial = loop === undefined ? "" : configOf(document, loop, "initial");
  const after = loop === undefined ? undefined : known.get(loop);
  const isKnown = known.size > 0;
  const read = (path: string, text: string) => ({
    queryKey: ["expressions", "inner", path, text, name],
    enabled: isKnown && text !== "",
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    retry: false,
    queryFn: async ({ client }: { readonly client: QueryClient }): Promise<{ readonly value: unknown }> => {
      const seen = valuesSeen(scope, path, lastOf, ({ key }) => key);
      const outer = aroundOf(scope, path).item;
      const items =
        outer === undefined ? null : await client.fetchQuery(read(outer, configOf(document, outer, "items")));
      const values = {
        ...valuesFor(text, seen),
        ...(outer !== undefined && { item: itemAt(items?.value, iterationIn(known, outer) ?? 0) ?? null }),
      };
      const { value } = await client.fetchQuery(evaluatedOptions({ language: "cel", source: text }, values, name));
      return { value: value ?? null };
    },
  });
  const items = useQuery(read(map ?? "", source));
  const first = useQuery({ ...read(loop ?? "", initial), enabled: isKnown && initial !== "" && after === undefined });
  const list = items.data?.value;
  const start = first.data;
  return useMemo(() => {
    const found: Partial<Record<Inner, { readonly value: unknown }>> = {};
    if (nearest !== undefined && isKnown) found.index = { value: iteration ?? 0 };
    const at = map === undefined ? undefined : itemAt(list, iterationIn(known, map) ?? 0);
    if (at !== undefined) found.item = { value: at };
    if (loop !== undefined && isKnown) found.last = after ?? start ?? { value: null };
    return {
      of: (kind) => found[kind],
      name: JSON.stringify([nodePath, source, initial, iteration ?? null, list !== undefined, start !== undefined]),
      isLoading: items.isLoading || first.isLoading,
    };
  }, [nearest, isKnown, iteration, map, list, known, loop, after, start, nodePath, source, initial, items, first]);
}

/** The paths of the maps and loops that give a node its values. */
function aroundOf(scope: FlowScope | null, nodePath: string): Partial<Record<Inner, string>> {
  const sees = new Set(scope?.nodes.find(({ node_path }) => node_path === nodePath)?.sees);
  const values = scope?.values.filter(({ key, kind }) => sees.has(key) && isInner(kind)) ?? [];
  return Object.fromEntries(values.map(({ kind, node_path }) => [kind, node_path ?? undefined]));
}

/** The iteration of a map or loop that the values inside it are from. */
const iterationIn = (known: Outer["known"], path: string): number | undefined =>
  [...known].find(([each, { iteration }]) => iteration !== undefined && splitPath(each).scope.join("/") === path)?.[1]
    .iteration;

const itemAt = (list: unknown, at: number): unknown => (Array.isArray(list) ? (list as unknown[])[at] : undefined);

function configOf(document: FlowDocument, path: string, field: "items" | "initial"): string {
  const { scope, id } = splitPath(path);
  const text = fieldOf(nodeAt(document, scope, id)?.config, field);
  return typeof text === "string" ? text : "";
}
