import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { recentRunsOptions } from "../../../api/referables.ts";
import { comparedRunOptions } from "../../../api/runs.ts";
import type { Json } from "../../../flow/document.ts";
import { useEditor } from "../editor-context.ts";
import { outputsOf } from "../try/shown-values.ts";
import { isInner, useInnerValues } from "./inner-values.ts";
import type { ScopeValue } from "./scope-values.ts";

type Known = ReadonlyMap<string, KnownValue>;
interface KnownValue {
  readonly value: unknown;
  readonly iteration?: number;
}

/** The values that previews and completion show. */
export interface PreviewValues {
  /** ID of the run that they are from; "" for the last try and the pinned values. */
  readonly runId: string;
  readonly choose: (runId: string) => void;
  readonly runs: ReadonlyArray<{ readonly run_id: string; readonly created_at: string; readonly state: string }>;
  readonly isLoading: boolean;
  /** Name of the values, which changes with them. */
  readonly name: string;
  readonly lastOf: (value: ScopeValue) => { readonly value: unknown } | undefined;
  readonly isEmpty: boolean;
}

const names = new WeakMap<Known, string>();
let made = 0;

/** A name for values, which other values do not have. */
function nameOf(known: Known): string {
  const name = names.get(known) ?? String((made += 1));
  names.set(known, name);
  return name;
}

/**
 * The values of the last try, or of a chosen run; pinned values come before those of the last try. A node in a map or loop
 * also has what the nearest one gives to it.
 */
export function usePreviewValues(nodePath: string): PreviewValues {
  const { projectId, values, pins, state, kindOf } = useEditor();
  const [runId, choose] = useState("");
  const { data: runs } = useQuery(recentRunsOptions(projectId));
  const run = useQuery({ ...comparedRunOptions(runId), enabled: runId !== "" });
  const nodes = run.data?.nodes;
  const known: Known = useMemo(() => {
    if (runId !== "") return outputsOf(nodes ?? []) as Known;
    const tried = [...values].filter(([, { value }]) => value !== undefined) as Array<[string, KnownValue]>;
    return new Map<string, KnownValue>([...tried, ...[...pins].map(([path, value]) => [path, { value }] as const)]);
  }, [runId, nodes, values, pins]);
  const { nodes: top } = state.document;
  const inputs = useMemo(() => {
    const given = top.filter(({ id, type }) => kindOf(type)?.input === true && known.has(id));
    return Object.fromEntries(given.map(({ id }) => [id, known.get(id)?.value as Json]));
  }, [top, kindOf, known]);
  const outer = useCallback(
    ({ kind, node_path }: ScopeValue) => {
      if (kind === "inputs") return Object.keys(inputs).length === 0 ? undefined : { value: inputs };
      return kind === "node" && node_path !== null ? known.get(node_path) : undefined;
    },
    [known, inputs],
  );
  const name = nameOf(known);
  const inner = useInnerValues(nodePath, { known, lastOf: outer, name });
  const lastOf = useCallback(
    (value: ScopeValue) => (isInner(value.kind) ? inner.of(value.kind) : outer(value)),
    [inner, outer],
  );
  return {
    runId,
    choose,
    runs: runs?.data ?? [],
    isLoading: (runId !== "" && run.isPending) || inner.isLoading,
    name: `${name} ${inner.name}`,
    lastOf,
    isEmpty: known.size === 0,
  };
}
