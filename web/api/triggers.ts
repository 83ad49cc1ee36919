import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged, type Schemas, type Tagged } from "./client.ts";
import { newKey } from "./intent.ts";
import type { Direction } from "./every-page.ts";

export type ShownTrigger = Tagged<Schemas["ProjectTriggerShown"]>;
export type Firing = Schemas["TriggerFiring"];
export const FIRING_STATES = ["pending", "started", "failed"] as const satisfies ReadonlyArray<Firing["state"]>;

const POLL_MS = 5000;

export const triggerOptions = (id: string) =>
  queryOptions({
    queryKey: ["triggers", "detail", id],
    queryFn: () => unwrapTagged(api.GET("/v2/triggers/{id}", { params: { path: { id } } })),
  });

/** What a kind of trigger takes: the schema of its settings, and an example of its payload. */
export const triggerKindOptions = (provider_id: string, trigger_id: string) =>
  queryOptions({
    queryKey: ["triggers", "kind", provider_id, trigger_id],
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: () =>
      unwrap(
        api.GET("/v2/providers/{provider_id}/triggers/{trigger_id}", { params: { path: { provider_id, trigger_id } } }),
      ),
  });

/** The firings of a trigger, page by page. */
export const firingsOptions = (id: string, state: Firing["state"] | undefined, order: Direction) =>
  infiniteQueryOptions({
    queryKey: ["triggers", "firings", id, { state, order }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { page_size: 50, order, ...(state && { state }), ...(pageParam !== null && { cursor: pageParam }) };
      return unwrap(api.GET("/v2/triggers/{id}/firings", { params: { path: { id }, query } }));
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    refetchInterval: POLL_MS,
  });

/** A firing with its whole payload. */
export const firingOptions = (id: string, firing_id: string) =>
  queryOptions({
    queryKey: ["triggers", "firing", id, firing_id],
    queryFn: () => unwrap(api.GET("/v2/triggers/{id}/firings/{firing_id}", { params: { path: { id, firing_id } } })),
  });

export const changeTrigger = ({
  id,
  etag,
  ...body
}: Tagged<Schemas["ProjectTriggerChange"] & { readonly id: string }>) =>
  unwrap(api.PATCH("/v2/triggers/{id}", { params: { ...ifMatch(etag), path: { id } }, body }));

/** Each call fires the trigger once more. */
export const repeatFiring = (path: { readonly id: string; readonly firing_id: string }) =>
  unwrap(
    api.POST("/v2/triggers/{id}/firings/{firing_id}/repeat", {
      params: { path, header: { "Idempotency-Key": newKey() } },
    }),
  );

/** Changes a trigger, then reads triggers again: a refusal may come from a change by someone else. */
export function useTriggerAction<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: act, onSettled: () => client.invalidateQueries({ queryKey: ["triggers"] }) });
}
