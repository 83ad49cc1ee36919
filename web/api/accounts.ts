import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged } from "./client.ts";
import type { Schemas } from "./client.ts";
import { ApiProblem } from "./problem.ts";

export type Me = Schemas["Me"];
export type Role = Me["role"];
export type ProjectRole = Schemas["ProjectMember"]["role"];
export type User = Schemas["User"];
export type ApiKey = Schemas["ApiKey"];

const ROLES: readonly Role[] = ["member", "viewer", "editor", "admin"];

/** Who is signed in; null for nobody. */
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

/** How people may sign in here: by password or not, and by which identity providers. */
export const waysInOptions = queryOptions({
  queryKey: ["ways-in", "list"],
  queryFn: () => unwrap(api.GET("/console/session/providers")),
});

/** Who is signed in, inside the frame, which shows nothing else to others. */
export function useMe(): Me {
  const { data } = useQuery(meOptions);
  if (!data) throw new Error("nobody is signed in");
  return data;
}

const includes = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);

/**
 * Whether the person's role includes what `needed` may do: in a project, or without one in the whole organisation. What it does not is
 * not offered.
 */
export function useMay(needed: Role, projectId?: string): boolean {
  const { data } = useQuery(meOptions);
  if (data == null) return false;
  const there = data.project_roles.find(({ project_id }) => project_id === projectId);
  return includes(data.role, needed) || (there !== undefined && includes(there.role, needed));
}

/** The same for what is about several projects: whether the person may do it in any. */
export function useMayAnywhere(needed: Role): boolean {
  const { data } = useQuery(meOptions);
  return data != null && [data, ...data.project_roles].some(({ role }) => includes(role, needed));
}

/** Clears the cache, so that the next person does not see what the previous one has read. */
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
    mutationFn: () => unwrap(api.DELETE("/console/session")),
    onSettled(signedOut) {
      forgetOthers(client);
      client.setQueryData(meOptions.queryKey, null);
      // To end the session at the identity provider; it leads back.
      if (signedOut) window.location.assign(signedOut.provider_sign_out_url);
    },
  });
}

const PAGE = { page_size: 200 };

export const usersOptions = queryOptions({
  queryKey: ["users", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/users", { params: { query: PAGE } })),
});
export const keysOptions = queryOptions({
  queryKey: ["api-keys", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/api-keys", { params: { query: PAGE } })),
});
export const sessionsOptions = queryOptions({
  queryKey: ["sessions", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/sessions", { params: { query: PAGE } })),
});

export const userProjectsOptions = (user_id: string) =>
  queryOptions({
    queryKey: ["user-projects", "list", user_id],
    queryFn: () => unwrap(api.GET("/v2/users/{user_id}/projects", { params: { path: { user_id }, query: PAGE } })),
  });

export const projectMembersOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["project-members", "list", project_id],
    queryFn: () =>
      unwrap(api.GET("/v2/projects/{project_id}/members", { params: { path: { project_id }, query: PAGE } })),
  });

/** Finds the user of a whole e-mail address, for who sets roles in a project; null where there is none. */
export const useCandidateSearch = (project_id: string) =>
  useMutation({
    mutationFn: async (email: string) => {
      const params = { path: { project_id }, query: { email } };
      const { data } = await unwrap(api.GET("/v2/projects/{project_id}/member-candidates", { params }));
      return data[0] ?? null;
    },
  });

/** A change of a role in a project: it may be one's own. */
export function useMemberChange<T, R>(change: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["project-members"] }),
        client.invalidateQueries({ queryKey: meOptions.queryKey }),
      ]),
  });
}

/** A change of accounts: afterwards the list named is read anew, for a refusal may be of what has changed meanwhile. */
export function useAccountChange<T, R>(list: string, change: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: change, onSettled: () => client.invalidateQueries({ queryKey: [list] }) });
}

export const createUser = (body: Schemas["UserCreate"]) => unwrap(api.POST("/v2/users", { body }));
/**
 * Changes a user who still is as `seen`. A list has no tags: the one to send is read first, and what it is of is held against what
 * the list has shown.
 */
export async function changeUser({ seen, ...body }: Schemas["UserChange"] & { readonly seen: User }): Promise<User> {
  const path = { user_id: seen.user_id };
  const now = await unwrapTagged(api.GET("/v2/users/{user_id}", { params: { path } }));
  if (now.role !== seen.role || now.disabled !== seen.disabled)
    throw new ApiProblem(412, "precondition_failed", "The user has changed since the list was read.", null);
  return unwrap(api.PATCH("/v2/users/{user_id}", { params: { ...ifMatch(now.etag), path }, body }));
}
export const deleteUser = (user_id: string) =>
  unwrap(api.DELETE("/v2/users/{user_id}", { params: { path: { user_id } } }));
interface Member {
  readonly project_id: string;
  readonly user_id: string;
}
export const setProjectMember = ({ role, ...path }: Member & { readonly role: ProjectRole }) =>
  unwrap(api.PUT("/v2/projects/{project_id}/members/{user_id}", { params: { path }, body: { role } }));
export const deleteProjectMember = (path: Member) =>
  unwrap(api.DELETE("/v2/projects/{project_id}/members/{user_id}", { params: { path } }));
export const createKey = (body: Schemas["ApiKeyCreate"]) => unwrap(api.POST("/v2/api-keys", { body }));
export const revokeKey = (key_id: string) =>
  unwrap(api.DELETE("/v2/api-keys/{key_id}", { params: { path: { key_id } } }));
export const endSession = (session_id: string) =>
  unwrap(api.DELETE("/v2/sessions/{session_id}", { params: { path: { session_id } } }));
