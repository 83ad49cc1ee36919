import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";
import type { Intent } from "./intent.ts";

/** What can be created where it is referred to. */
export type Creatable = "connection" | "knowledge_base" | "skill" | "project" | "provider";

/** The role that may create one. */
export const roleToCreate = (kind: Creatable): "admin" | "editor" => (kind === "connection" ? "admin" : "editor");

type Body = Readonly<Record<string, unknown>>;
type Create = (body: Body, key: string) => Promise<string>;

const withKey = (key: string) => ({ header: { "Idempotency-Key": key } });

/** Creates one, and returns its ID. The API checks the body, so its type is open here. */
const CREATE: Readonly<Record<Creatable, Create>> = {
  connection: async (body, key) =>
    (await unwrap(api.POST("/v2/connections", { params: withKey(key), body: body as Schemas["ConnectionCreate"] })))
      .connection_id,
  knowledge_base: async (body, key) =>
    (await unwrap(api.POST("/v2/knowledge-bases", { params: withKey(key), body: body as never }))).knowledge_base_id,
  skill: async (body, key) =>
    (await unwrap(api.POST("/v2/skills", { params: withKey(key), body: body as never }))).skill_id,
  project: async (body, key) =>
    (await unwrap(api.POST("/v2/projects", { params: withKey(key), body: body as never }))).project_id,
  provider: async (body, key) => {
    const made = await unwrap(api.POST("/v2/providers", { params: withKey(key), body: body as never }));
    // Only a dry run, which this is not, answers with differences.
    return "provider_id" in made ? made.provider_id : "";
  },
};

/** Creates something and reads all lists again that may show it. */
export function useCreate(kind: Creatable, intent: Intent) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Body) => CREATE[kind](body, intent([kind, body])),
    onSuccess: () =>
      Promise.all(
        ["connections", "knowledge-bases", "skills", "projects", "providers", "actions", "referables"].map((word) =>
          client.invalidateQueries({ queryKey: [word] }),
        ),
      ),
  });
}

/** The providers that a connection can be created for, with the fields of their credentials. */
export const connectableOptions = queryOptions({
  queryKey: ["providers", "connectable"],
  staleTime: 30_000,
  queryFn: async () => {
    const { data } = await everyPage((query) => unwrap(api.GET("/v2/providers", { params: { query } })));
    return data.filter(({ auth }) => auth.schemes.length > 0);
  },
});
