import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged, type Schemas, type Tagged } from "./client.ts";
import { everyPage } from "./every-page.ts";
import { readIo } from "./flow-io.ts";
import type { Intent } from "./intent.ts";
import { ApiProblem } from "./problem.ts";

export type ListedProject = Schemas["ListedProject"];
export type ProjectActivity = NonNullable<ListedProject["activity"]>;
export type FlowVersion = Schemas["FlowVersion"];

/** All projects with their draft, their last run and their runs a day. */
export const projectActivityOptions = queryOptions({
  queryKey: ["projects", "activity"],
  refetchInterval: 30_000,
  queryFn: () =>
    everyPage((query) =>
      unwrap(api.GET("/v2/projects", { params: { query: { ...query, expand: "activity" as const } } })),
    ),
});

/** A project, with the projects whose published flow calls it. */
export const projectOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["projects", "with-users", project_id],
    queryFn: () =>
      unwrapTagged(
        api.GET("/v2/projects/{project_id}", {
          params: { path: { project_id }, query: { expand: "used_by" as const } },
        }),
      ),
  });

/** Versions of a project, newest first. */
export const versionsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["versions", "list", project_id],
    queryFn: () =>
      everyPage((query) =>
        unwrap(api.GET("/v2/projects/{project_id}/versions", { params: { path: { project_id }, query } })),
      ),
  });

/** A version with its flow; -1 is the published one. */
export const versionOptions = (project_id: string, version: number) =>
  queryOptions({
    queryKey: ["versions", "detail", project_id, version],
    queryFn: () =>
      unwrap(api.GET("/v2/projects/{project_id}/versions/{version}", { params: { path: { project_id, version } } })),
  });

/** The draft of a project; null if it has none. */
export const projectDraftOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["projects", "draft", project_id],
    queryFn: async (): Promise<Tagged<Schemas["Draft"]> | null> => {
      try {
        return await unwrapTagged(api.GET("/v2/projects/{project_id}/draft", { params: { path: { project_id } } }));
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 404) return null;
        throw error;
      }
    },
  });

export const projectTriggersOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["triggers", "of-project", project_id],
    queryFn: () =>
      everyPage((query) => unwrap(api.GET("/v2/triggers", { params: { query: { ...query, project_id } } }))),
  });

export const projectMonitorsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["monitors", "of-project", project_id],
    queryFn: () =>
      everyPage((query) => unwrap(api.GET("/v2/evals/monitors", { params: { query: { ...query, project_id } } }))),
  });

export const projectExperimentsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["experiments", "of-project", project_id],
    queryFn: () =>
      everyPage((query) => unwrap(api.GET("/v2/evals/experiments", { params: { query: { ...query, project_id } } }))),
  });

/** How many of a project's runs are read to tell which versions are in use. */
export const LATEST_RUNS = 200;
export const latestRunsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["runs", "of-project", project_id],
    queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: { project_id, page_size: LATEST_RUNS } } })),
  });

/** What a call runs: a version, -1 for the published one, or that of an environment. */
export type CallTarget = { readonly version: number } | { readonly environment: string };

/** The inputs, outputs and examples of what a call runs. */
export const ioOptions = (project_id: string, target: CallTarget) =>
  queryOptions({
    queryKey: ["versions", "io", project_id, target],
    queryFn: () => readIo(project_id, target),
  });

/** The OpenAPI document of the run operation. */
export const openApiOf = (project_id: string, target: CallTarget): Promise<unknown> =>
  unwrap(
    api.GET("/v2/projects/{project_id}/io-schema", {
      params: { path: { project_id }, query: { ...target, format: "openapi" as const } },
    }),
  );

export interface NewProject {
  readonly name: string;
  /** The flow as JSON text, kept as it is; null for an empty project. */
  readonly flow: string | null;
  readonly intent: Intent;
}

/** Creates a project with a flow as its draft, which may be invalid. Creates nothing if the draft is rejected. */
export async function createProject({ name, flow, intent }: NewProject): Promise<Schemas["Project"]> {
  const header = { "Idempotency-Key": intent({ name, flow }) };
  const project = await unwrap(api.POST("/v2/projects", { params: { header }, body: { name } as never }));
  if (flow === null) return project;
  const path = { project_id: project.project_id };
  try {
    // The flow stays text, because parsing would change numbers with many digits.
    await unwrap(
      api.PUT("/v2/projects/{project_id}/draft", {
        params: { path },
        body: { flow: {} },
        bodySerializer: () => `{"flow":${flow}}`,
      }),
    );
  } catch (error) {
    await unwrap(api.DELETE("/v2/projects/{project_id}", { params: { path } }));
    throw error;
  }
  return project;
}

export const renameProject = ({
  project_id,
  etag,
  ...body
}: Tagged<Schemas["ProjectChange"] & { readonly project_id: string }>) =>
  unwrap(api.PATCH("/v2/projects/{project_id}", { params: { ...ifMatch(etag), path: { project_id } }, body }));

export const deleteProject = ({ project_id, cancel_runs }: { project_id: string; cancel_runs: boolean }) =>
  unwrap(api.DELETE("/v2/projects/{project_id}", { params: { path: { project_id }, query: { cancel_runs } } }));

/** Makes a version the published one. */
export const publishVersion = (path: { readonly project_id: string; readonly version: number }) =>
  unwrap(api.POST("/v2/projects/{project_id}/versions/{version}/publish", { params: { path } }));

/** Makes the draft that `etag` belongs to the next version. */
export const publishDraft = ({
  project_id,
  etag,
  ...body
}: Tagged<{ readonly project_id: string; readonly notes: string; readonly publish: boolean }>) =>
  unwrap(
    api.POST("/v2/projects/{project_id}/versions", {
      params: { ...ifMatch(etag), path: { project_id } },
      body: { draft: true as const, ...body },
    }),
  );

/** Changes a project, then refetches projects and versions: a refusal may come from a change by someone else. */
export function useProjectAction<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSettled: () =>
      Promise.all(
        ["projects", "versions", "flows", "draft-steps"].map((word) => client.invalidateQueries({ queryKey: [word] })),
      ),
  });
}
