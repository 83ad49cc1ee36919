import { queryOptions, useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage, keyOfOrder, type Direction } from "./every-page.ts";
import { ApiProblem } from "./problem.ts";

export type Me = Schemas["Me"];
export type Role = Me["role"];
export type ProjectMember = Schemas["ProjectMember"];
export type ProjectRole = ProjectMember["role"];
export type User = Schemas["User"];
export type ApiKey = Schemas["ApiKey"];

const ROLES: readonly Role[] = ["member", "viewer", "editor", "admin"];

/** The signed-in person; null if no one is signed in. */
export const meOptions = queryOptions({
  queryKey: ["me", "detail"],
  staleTime: 60_000,
  queryFn: async (): Promise<Me | null> => {
    try {
      return await unwrap(api.GET("/v2/me"));
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) return null;
      throw error;
    }
  },
});

/** The sign-in methods of this installation: whether passwords work, and which identity providers. */
export const waysInOptions = queryOptions({
  queryKey: ["ways-in", "list"],
  queryFn: () => unwrap(api.GET("/console/session/providers")),
});

/** The signed-in person; only for use inside the frame, which renders nothing without one. */
export function useMe(): Me {
  const { data } = useQuery(meOptions);
  if (!data) throw new Error("No one is signed in.");
  return data;
}

const includes = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);

/**
 * Whether the person's role in the project (without `projectId`: in the organisation) includes `needed`. The console
 * does not offer actions that the role does not allow.
 */
export function useMay(needed: Role, projectId?: string): boolean {
  const { data } = useQuery(meOptions);
  if (data == null) return false;
  const there = data.project_roles.find(({ project_id }) => project_id === projectId);
  return includes(data.role, needed) || (there !== undefined && includes(there.role, needed));
}

/** Whether the person's role in any project, or in the organisation, includes `needed`. */
export function useMayAnywhere(needed: Role): boolean {
  const { data } = useQuery(meOptions);
  return data != null && [data, ...data.project_roles].some(({ role }) => includes(role, needed));
}

/** Clears the cache, so that the next person does not see data that the previous one has read. */
function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== meOptions.queryKey[0] });
}

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["SignIn"]) => unwrap(api.POST("/console/session", { body })),
    onSuccess(me) {
      forgetOthers(client);
      client.setQueryData(meOptions.queryKey, me);
    },
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      try {
        return await unwrap(api.DELETE("/console/session"));
      } catch (error) {
        // A 401 means that the session has already ended. After any other error the session still works, and must not look ended.
        if (error instanceof ApiProblem && error.status === 401) return undefined;
        throw error;
      }
    },
    onSuccess(signedOut) {
      forgetOthers(client);
      client.setQueryData(meOptions.queryKey, null);
      // The identity provider ends its own session at this URL and redirects back to the console.
      if (signedOut) window.location.assign(signedOut.provider_sign_out_url);
    },
  });
}

export const keysOptions = (order: Direction) =>
  queryOptions({
    queryKey: ["api-keys", "list", ...keyOfOrder(order)],
    queryFn: () => everyPage((query) => unwrap(api.GET("/v2/api-keys", { params: { query: { ...query, order } } }))),
  });
/** Changes accounts, then refetches the named list: a refusal may come from a change by someone else. */
export function useAccountChange<T, R>(list: string, change: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: change, onSettled: () => client.invalidateQueries({ queryKey: [list] }) });
}

export const createKey = (body: Schemas["ApiKeyCreate"]) => unwrap(api.POST("/v2/api-keys", { body }));
export const revokeKey = (key_id: string) =>
  unwrap(api.DELETE("/v2/api-keys/{key_id}", { params: { path: { key_id } } }));
