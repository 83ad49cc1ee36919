import { compareVersions, type ComparedFlow, type Differences } from "../../domain/flow/compare-versions.ts";
import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import { flowReferences } from "../../domain/flow/references.ts";
import type { Bindings } from "../../domain/projects/environments.ts";
import type { Db } from "../../stores/db.ts";
import { measuredVersions, type Measured } from "../evals/compare-experiments.ts";
import type { Environment } from "../../stores/projects/environments.ts";
import { findFlowVersion, type FlowVersion } from "../../stores/projects/flow-versions.ts";

/** A connection of the flow that would be replaced differently; null if the flow does not use it. */
interface ConnectionChange {
  readonly connection_id: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** What a promotion would change in an environment. */
export interface EnvironmentDifference {
  /** Null if the environment has no version. */
  readonly current_version: number | null;
  readonly version: number;
  readonly inputs: Differences;
  readonly outputs: Differences;
  readonly nodes: Differences;
  readonly connections: readonly ConnectionChange[];
  /** Null unless completed experiments with the same dataset and evaluators exist for both versions. */
  readonly experiments: { readonly dataset_id: string; readonly current: Measured; readonly version: Measured } | null;
}

/** Compares what runs in an environment now with a version and connections. */
export async function compareWithEnvironment(
  db: Db,
  environment: Environment,
  wanted: { readonly project_id: string; readonly version: FlowVersion; readonly connections: Bindings },
  limits: { readonly max_input_bytes: number },
): Promise<EnvironmentDifference> {
  const { project_id, version } = wanted;
  const current = environment.version === null ? null : await findFlowVersion(db, project_id, environment.version);
  const described = ({ definition, content_hash, version: number }: FlowVersion): ComparedFlow => ({
    definition,
    io: describeFlow(definition, { project_id, name: "", version: number, content_hash }, limits),
  });
  const found =
    current === null || current.version === version.version
      ? null
      : await measuredVersions(db, project_id, { before: current.version, after: version.version });
  return {
    current_version: current?.version ?? null,
    version: version.version,
    ...compareVersions(current && described(current), described(version)),
    connections: changesOf(
      effective(current, environment.promotion?.connections ?? {}),
      effective(version, wanted.connections),
    ),
    experiments: found && { dataset_id: found.dataset_id, current: found.before, version: found.after },
  };
}

/** The connections that a version's flow names, with the ones that its runs use. */
function effective(version: FlowVersion | null, bindings: Bindings): ReadonlyMap<string, string> {
  const used = version === null ? [] : flowReferences(version.definition).filter(({ kind }) => kind === "connection");
  return new Map(used.map(({ id }) => [id, bindings[id] ?? id]));
}

function changesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ConnectionChange[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((id) => before.get(id) !== after.get(id))
    .toSorted()
    .map((id) => ({ connection_id: id, before: before.get(id) ?? null, after: after.get(id) ?? null }));
}
