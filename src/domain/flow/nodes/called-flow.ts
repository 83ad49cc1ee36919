import { z } from "zod";
import { ENVIRONMENT_NAME } from "../../projects/environments.ts";
import type { NodeReference } from "./spec.ts";

/** Which version of another project's flow a node or a tool runs. */
export const calledFlow = {
  version: z
    .int()
    .min(-1)
    .refine((version) => version !== 0, "Must be a version from 1, or -1 for the one of the environment")
    .default(-1)
    .describe("Version of that flow; -1 is the one that its environment has when the node runs"),
  environment: z
    .string()
    .regex(ENVIRONMENT_NAME, "Must be lower-case letters, digits and hyphens, at most 64, but not draft")
    .exactOptional()
    .describe(
      "Environment of that flow whose version and connections are used; default: the one of the run, or production if that flow has no version there",
    ),
};

/** A call of another project's flow; version -1 is the one of the environment. */
export interface CalledFlow {
  readonly project_id: string;
  readonly version: number;
  /** Default: that of the run. */
  readonly environment?: string | undefined;
}

/** Whether a call names at most one of version and environment. */
export const hasOneVersion = ({ version, environment }: Omit<CalledFlow, "project_id">): boolean =>
  environment === undefined || version === -1;
export const ONE_VERSION = { path: ["environment"], message: "Set either version or environment" };

/** The references of a call, which stands directly in a configuration. */
export function callReferences({ project_id, version, environment }: CalledFlow): NodeReference[] {
  const id = project_id.toLowerCase();
  return [
    { kind: "project", id, version, environment, path: ["project_id"] },
    ...environmentReference(id, environment),
  ];
}

/** The reference to the environment that a call of this project names. */
export function environmentReference(projectId: string, environment: string | undefined): NodeReference[] {
  return environment === undefined
    ? []
    : [{ kind: "environment", id: `${projectId}/${environment}`, path: ["environment"] }];
}
