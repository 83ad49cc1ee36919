import { QueryCache, QueryClient } from "@tanstack/react-query";
import createClient from "openapi-fetch";
import { ApiProblem, problemOf } from "./problem.ts";
import type { components, paths } from "./schema.d.ts";

export type Schemas = components["schemas"];

/** The whole public API, typed by its document. The browser sends the session's cookie. */
export const api = createClient<paths>({ credentials: "same-origin" });

type Call<T> = Promise<{ readonly data?: T; readonly error?: unknown; readonly response: Response }>;

/** The body of a good answer; otherwise throws an ApiProblem. By the status, because an error may have no body. */
export async function unwrap<T>(call: Call<T>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  throw problemOf(response, error);
}

/** What was read, with the tag of its state: a change of it says what it was made of. */
export type Tagged<T> = T & { readonly etag: string | null };

export async function unwrapTagged<T extends object>(call: Call<T>): Promise<Tagged<T>> {
  const body = await unwrap(call);
  return { ...body, etag: (await call).response.headers.get("etag") };
}

/** Has a change refused with 412 where what it was made of has changed since. */
export const ifMatch = (etag: string | null): { readonly header?: { readonly "If-Match": string } } =>
  etag === null ? {} : { header: { "If-Match": etag } };

const RETRIES = 2;

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      // The session has ended: the frame shows the sign-in, and afterwards this page again.
      if (error instanceof ApiProblem && error.status === 401 && query.queryKey[0] !== "me")
        queryClient.setQueryData(["me", "detail"], null);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      retry: (failures, error) => failures < RETRIES && mayPass(error),
      retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 5000),
    },
  },
});

/** Only these two refusals may succeed at another time. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof ApiProblem)) return true;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

/**
 * A new Idempotency-Key: made once for what somebody means to do, and sent with every attempt at it. `crypto.randomUUID` is missing where a
 * browser reaches the console by http and another name than localhost.
 */
export const newIntent = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
