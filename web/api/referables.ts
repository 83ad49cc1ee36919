import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";
import { connectionsOptions } from "./system.ts";
import { projectsOptions } from "./runs.ts";

/** Something that a node can refer to. */
export interface Referable {
  readonly id: string;
  readonly name: string;
  readonly about: string;
}

const PAGE = 50;
const STALE_MS = 30_000;

const providersOptions = queryOptions({
  queryKey: ["providers", "list"],
  staleTime: STALE_MS,
  queryFn: () => everyPage((query) => unwrap(api.GET("/v2/providers", { params: { query } }))),
});

const skillsOptions = queryOptions({
  queryKey: ["skills", "list"],
  staleTime: STALE_MS,
  queryFn: () => everyPage((query) => unwrap(api.GET("/v2/skills", { params: { query } }))),
});

const basesOptions = queryOptions({
  queryKey: ["knowledge-bases", "every"],
  staleTime: STALE_MS,
  queryFn: () => everyPage((query) => unwrap(api.GET("/v2/knowledge-bases", { params: { query } }))),
});

/** What the nodes of a flow can refer to by a kind of reference, except actions, which are searched page by page. */
export const referablesOptions = (kind: string, provider_id?: string) =>
  queryOptions({
    queryKey: ["referables", "list", { kind, provider_id }],
    staleTime: STALE_MS,
    queryFn: async ({ client }): Promise<readonly Referable[]> => {
      switch (kind) {
        case "connection": {
          const { data } = await client.fetchQuery(connectionsOptions);
          const fitting = data.filter((each) => provider_id === undefined || each.provider_id === provider_id);
          return fitting.map((each) => ({
            id: each.connection_id,
            name: each.name,
            about: `${each.provider_id} · ${each.status}`,
          }));
        }
        case "knowledge_base": {
          const { data } = await client.fetchQuery(basesOptions);
          return data.map((each) => ({ id: each.knowledge_base_id, name: each.name, about: each.description }));
        }
        case "project": {
          const { data } = await client.fetchQuery(projectsOptions);
          return data.map((each) => ({ id: each.project_id, name: each.name, about: each.description }));
        }
        case "skill": {
          const { data } = await client.fetchQuery(skillsOptions);
          return data.map((each) => ({ id: each.skill_id, name: each.name, about: each.description }));
        }
        case "provider": {
          const { data } = await client.fetchQuery(providersOptions);
          return data.map((each) => ({ id: each.provider_id, name: each.name, about: each.description }));
        }
        default:
          return [];
      }
    },
  });

/** Actions of a provider that match a search, page by page: an imported provider can have thousands. */
export const actionPagesOptions = (provider_id: string, search: string) =>
  infiniteQueryOptions({
    queryKey: ["actions", "pages", { provider_id, search }],
    staleTime: STALE_MS,
    enabled: provider_id !== "",
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = {
        page_size: PAGE,
        ...(search !== "" && { query: search }),
        ...(pageParam !== null && { cursor: pageParam }),
      };
      return unwrap(api.GET("/v2/providers/{provider_id}/actions", { params: { path: { provider_id }, query } }));
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
  });

export const actionOptions = (provider_id: string, action_id: string) =>
  queryOptions({
    queryKey: ["actions", "detail", { provider_id, action_id }],
    staleTime: STALE_MS,
    queryFn: () =>
      unwrap(
        api.GET("/v2/providers/{provider_id}/actions/{action_id}", { params: { path: { provider_id, action_id } } }),
      ),
  });

/** `of`: names the values, because comparing them would take longer than sending them. */
export const evaluatedOptions = (
  asked: Pick<Schemas["ExpressionEvaluate"], "language" | "source">,
  values: object,
  of: string,
) =>
  queryOptions({
    queryKey: ["expressions", "evaluated", asked, of],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    queryFn: ({ signal }) => unwrap(api.POST("/v2/flows/evaluate", { body: { ...asked, ...values } as never, signal })),
  });

/** The newest runs of a project, whose values a preview can use. */
export const recentRunsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["runs", "recent", project_id],
    staleTime: STALE_MS,
    queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: { project_id, page_size: 10 } } })),
  });
