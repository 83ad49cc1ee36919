import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";
import type { Intent } from "./intent.ts";

export type PublishedPage = Schemas["Page"];
export type PageCreate = Schemas["PageCreate"];
export type PageChange = Schemas["PageChange"];

const PATH = "/v2/projects/{project_id}/pages" as const;

/** The published pages of a project, newest first, including closed ones. */
export const publishedPagesOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["published-pages", "list", project_id],
    queryFn: () => everyPage((query) => unwrap(api.GET(PATH, { params: { path: { project_id }, query } }))),
  });

/** Changes published pages, then refetches them: a refusal may come from a change by someone else. */
export function usePublishedPageAction<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSettled: () => client.invalidateQueries({ queryKey: ["published-pages"] }),
  });
}

interface Of {
  readonly project_id: string;
}

export const publishPage = ({
  project_id,
  intent,
  body,
}: Of & { readonly body: PageCreate; readonly intent: Intent }) =>
  unwrap(api.POST(PATH, { params: { path: { project_id }, header: { "Idempotency-Key": intent(body) } }, body }));

export const changePublishedPage = ({
  project_id,
  page_id,
  body,
}: Of & { readonly page_id: string; readonly body: PageChange }) =>
  unwrap(api.PATCH(`${PATH}/{page_id}`, { params: { path: { project_id, page_id } }, body }));

export const revokePage = (path: Of & { readonly page_id: string }) =>
  unwrap(api.DELETE(`${PATH}/{page_id}`, { params: { path } }));
