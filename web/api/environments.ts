import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";

export type Environment = Schemas["Environment"];
export type EnvironmentDifference = Schemas["EnvironmentDifference"];
export type Promotion = Schemas["Promotion"];

interface Named {
  readonly project_id: string;
  readonly environment: string;
}

export const environmentsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["environments", "list", project_id],
    refetchInterval: 30_000,
    queryFn: () => unwrap(api.GET("/v2/projects/{project_id}/environments", { params: { path: { project_id } } })),
  });

/** The latest promotions of a project. */
export const promotionsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["environments", "promotions", project_id],
    queryFn: () =>
      unwrap(api.GET("/v2/projects/{project_id}/promotions", { params: { path: { project_id }, query: {} } })),
  });

/** The reviews of an environment that wait for a decision. */
export const openReviewsOptions = (path: Named) =>
  queryOptions({
    queryKey: ["environments", "reviews", path],
    refetchInterval: 30_000,
    queryFn: () =>
      everyPage((query) =>
        unwrap(
          api.GET("/v2/projects/{project_id}/environments/{environment}/reviews", {
            params: { path, query: { ...query, state: "open" as const } },
          }),
        ),
      ),
  });

/** A review with its difference to what the environment has. */
export const reviewOptions = (path: Named & { readonly review_id: string }) =>
  queryOptions({
    queryKey: ["environments", "review", path],
    queryFn: () =>
      unwrap(api.GET("/v2/projects/{project_id}/environments/{environment}/reviews/{review_id}", { params: { path } })),
  });

/** What promoting a version would change in an environment. */
export const differenceOptions = (path: Named, version: number) =>
  queryOptions({
    queryKey: ["environments", "difference", path, version],
    queryFn: () =>
      unwrap(
        api.GET("/v2/projects/{project_id}/environments/{environment}/difference", {
          params: { path, query: { version } },
        }),
      ),
  });

export const promote = ({ project_id, environment, ...body }: Named & Schemas["EnvironmentPromote"]) =>
  unwrap(
    api.PUT("/v2/projects/{project_id}/environments/{environment}", {
      params: { path: { project_id, environment } },
      body,
    }),
  );

export const propose = ({ project_id, environment, ...body }: Named & Schemas["EnvironmentReviewCreate"]) =>
  unwrap(
    api.POST("/v2/projects/{project_id}/environments/{environment}/reviews", {
      params: { path: { project_id, environment } },
      body,
    }),
  );

export const rollBack = ({ project_id, environment, ...body }: Named & Schemas["EnvironmentRollBack"]) =>
  unwrap(
    api.POST("/v2/projects/{project_id}/environments/{environment}/rollback", {
      params: { path: { project_id, environment } },
      body,
    }),
  );

export const changeEnvironment = ({ project_id, environment, ...body }: Named & Schemas["EnvironmentChange"]) =>
  unwrap(
    api.PATCH("/v2/projects/{project_id}/environments/{environment}", {
      params: { ...ifMatch(null), path: { project_id, environment } },
      body,
    }),
  );

export const deleteEnvironment = (path: Named) =>
  unwrap(api.DELETE("/v2/projects/{project_id}/environments/{environment}", { params: { path } }));

export const decideReview = ({
  decision,
  reason,
  ...path
}: Named & { readonly review_id: string } & Schemas["EnvironmentReviewDecision"]) =>
  unwrap(
    api.POST("/v2/projects/{project_id}/environments/{environment}/reviews/{review_id}/decision", {
      params: { path },
      body: { decision, reason },
    }),
  );

/** Changes an environment, then refetches what shows it: a refusal may come from a change by someone else. */
export function useEnvironmentAction<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSettled: () =>
      Promise.all(
        ["environments", "projects", "versions"].map((word) => client.invalidateQueries({ queryKey: [word] })),
      ),
  });
}
