import { QueryClient } from "@tanstack/react-query";
import createClient from "openapi-fetch";
import { ApiProblem, problemOf } from "./problem.ts";
import type { components, paths } from "./schema.d.ts";

export type Schemas = components["schemas"];

/** Typed client for the public API. The browser sends the session cookie. */
export const api = createClient<paths>({ credentials: "same-origin" });

type Call<T> = Promise<{ readonly data?: T; readonly error?: unknown; readonly response: Response }>;

/** Returns the body of a successful response, or throws an ApiProblem. Checks the status, because an error may have no body. */
export async function unwrap<T>(call: Call<T>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  throw problemOf(response, error);
}

/** A resource with its ETag; a change sends the ETag, so that it applies to this state only. */
export type Tagged<T> = T & { readonly etag: string | null };

export async function unwrapTagged<T extends object>(call: Call<T>): Promise<Tagged<T>> {
  const body = await unwrap(call);
  return { ...body, etag: (await call).response.headers.get("etag") };
}

/** Sends If-Match, so that a change based on stale data fails with 412. */
export const ifMatch = (etag: string | null): { readonly header?: { readonly "If-Match": string } } =>
  etag === null ? {} : { header: { "If-Match": etag } };

const RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      retry: (failures, error) => failures < RETRIES && mayPass(error),
      retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 5000),
    },
  },
});

/** Paths where a 401 does not mean that a session has ended. */
const SIGNING_IN: readonly string[] = ["/console/session", "/v2/me"];

// When any request finds that the session has ended, the frame shows the sign-in form and afterwards this page again.
api.use({
  onResponse({ response, schemaPath }) {
    if (response.status === 401 && !SIGNING_IN.includes(schemaPath)) queryClient.setQueryData(["me", "detail"], null);
  },
});

/** Whether a retry may succeed: after 408, 429, a server error, or a failure without a response. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof ApiProblem)) return true;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}
