import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { meOptions, type ProjectRole, type User } from "./accounts.ts";
import { api, ifMatch, unwrap, unwrapTagged, type Schemas } from "./client.ts";
import { everyPage, keyOfOrder, type Direction } from "./every-page.ts";
import { ApiProblem } from "./problem.ts";

export const usersIn = (order: Direction) =>
  queryOptions({
    queryKey: ["users", "list", ...keyOfOrder(order)],
    queryFn: () => everyPage((query) => unwrap(api.GET("/v2/users", { params: { query: { ...query, order } } }))),
  });
export const usersOptions = usersIn("desc");
export const sessionsOptions = (order: Direction) =>
  queryOptions({
    queryKey: ["sessions", "list", ...keyOfOrder(order)],
    queryFn: () => everyPage((query) => unwrap(api.GET("/v2/sessions", { params: { query: { ...query, order } } }))),
  });

export const userProjectsOptions = (user_id: string) =>
  queryOptions({
    queryKey: ["user-projects", "list", user_id],
    queryFn: () =>
      everyPage((query) => unwrap(api.GET("/v2/users/{user_id}/projects", { params: { path: { user_id }, query } }))),
  });

export const projectMembersOptions = (project_id: string, order: Direction) =>
  queryOptions({
    queryKey: ["project-members", "list", project_id, ...keyOfOrder(order)],
    queryFn: () =>
      everyPage((page) => {
        const query = { ...page, order };
        return unwrap(api.GET("/v2/projects/{project_id}/members", { params: { path: { project_id }, query } }));
      }),
  });

/** Finds a user by the complete e-mail address, for admins of a project; null if no user has it. */
export const useCandidateSearch = (project_id: string) =>
  useMutation({
    mutationFn: async (email: string) => {
      const params = { path: { project_id }, query: { email } };
      const { data } = await unwrap(api.GET("/v2/projects/{project_id}/member-candidates", { params }));
      return data[0] ?? null;
    },
  });

/** Changes a role in a project, possibly the user's own. */
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

export const createUser = (body: Schemas["UserCreate"]) => unwrap(api.POST("/v2/users", { body }));
/** Changes a user if the user is still as `seen`. List items have no ETag, so the user is read first and compared with `seen`. */
export async function changeUser({ seen, ...body }: Schemas["UserChange"] & { readonly seen: User }): Promise<User> {
  const path = { user_id: seen.user_id };
  const now = await unwrapTagged(api.GET("/v2/users/{user_id}", { params: { path } }));
  if (now.role !== seen.role || now.disabled !== seen.disabled)
    throw new ApiProblem(412, "precondition_failed", "The user changed after the list was loaded.", null);
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
export const endSession = (session_id: string) =>
  unwrap(api.DELETE("/v2/sessions/{session_id}", { params: { path: { session_id } } }));
