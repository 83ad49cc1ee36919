import { infiniteQueryOptions, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged } from "./client.ts";
import type { Schemas, Tagged } from "./client.ts";

export type Subscription = Schemas["WebhookSubscription"];
export type Delivery = Schemas["WebhookDelivery"];
export const DELIVERY_STATES = ["pending", "retrying", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

const PAGE = { page_size: 200 };

/** All subscriptions, or those alone that are failing. */
export const subscriptionsOptions = (which: "all" | "failing") => {
  const query = which === "failing" ? { ...PAGE, failing: true } : PAGE;
  return queryOptions({
    queryKey: ["webhooks", "list", query],
    queryFn: () => unwrap(api.GET("/v2/webhooks/subscriptions", { params: { query } })),
    refetchInterval: 10_000,
  });
};

export const subscriptionOptions = (subscription_id: string) =>
  queryOptions({
    queryKey: ["webhooks", "detail", subscription_id],
    queryFn: () =>
      unwrapTagged(api.GET("/v2/webhooks/subscriptions/{subscription_id}", { params: { path: { subscription_id } } })),
    refetchInterval: 5000,
  });

export const deliveriesOptions = (subscription_id: string, status: DeliveryState | undefined) =>
  infiniteQueryOptions({
    queryKey: ["webhooks", "deliveries", { subscription_id, status }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries", {
          params: {
            path: { subscription_id },
            query: { ...(status && { status }), ...(pageParam !== null && { cursor: pageParam }) },
          },
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    // It stays as it was read: see useDeliveriesInPlace.
    staleTime: Number.POSITIVE_INFINITY,
  });

const POLL_MS = 5000;
/** Deliveries of a list that are asked for one by one at once, where the newest page does not have them. */
const ONE_BY_ONE = 20;

/**
 * Reads the open deliveries of a list again, and puts them in their place. Answers the newest deliveries, which the list may not
 * have.
 */
export function useDeliveriesInPlace(
  subscription_id: string,
  status: DeliveryState | undefined,
  deliveries: readonly Delivery[],
): { readonly data: readonly Delivery[]; readonly has_more: boolean } | undefined {
  const client = useQueryClient();
  const { queryKey } = deliveriesOptions(subscription_id, status);
  const put = (read: readonly Delivery[]): void => {
    const now = new Map(read.map((each) => [each.delivery_id, each]));
    client.setQueryData(
      queryKey,
      (known) =>
        known && {
          ...known,
          pages: known.pages.map((page) => ({
            ...page,
            data: page.data.map((each) => now.get(each.delivery_id) ?? each),
          })),
        },
    );
  };
  const { data: newest } = useQuery({
    queryKey: ["webhooks", "newest", { subscription_id, status }],
    refetchInterval: POLL_MS,
    queryFn: async () => {
      const params = { path: { subscription_id }, query: { ...(status && { status }) } };
      const page = await unwrap(api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries", { params }));
      put(page.data);
      return page;
    },
  });
  const listed = new Set(newest?.data.map(({ delivery_id }) => delivery_id));
  const others = deliveries
    .filter(({ finished_at, delivery_id }) => finished_at === null && !listed.has(delivery_id))
    .slice(0, ONE_BY_ONE)
    .map(({ delivery_id }) => delivery_id);
  useQuery({
    queryKey: ["webhooks", "named", { subscription_id, others }],
    enabled: newest !== undefined && others.length > 0,
    refetchInterval: POLL_MS,
    queryFn: async () => {
      const read = await Promise.all(others.map((delivery_id) => readDelivery(subscription_id, delivery_id)));
      put(read);
      return read.length;
    },
  });
  return newest;
}

const readDelivery = (subscription_id: string, delivery_id: string) =>
  unwrap(
    api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries/{delivery_id}", {
      params: { path: { subscription_id, delivery_id } },
    }),
  );

export const deliveryOptions = (subscription_id: string, delivery_id: string) =>
  queryOptions({
    queryKey: ["webhooks", "delivery", { subscription_id, delivery_id }],
    queryFn: () => readDelivery(subscription_id, delivery_id),
    refetchInterval: ({ state }) => (state.data?.finished_at === null ? 3000 : false),
  });

/** What was sent, as the record has it. */
export interface SentEvent {
  readonly body: string;
  /** When each attempt was signed (s since 1970). */
  readonly signedAt: readonly number[];
}

/** What a subscription was sent under a `webhook-id`; null where there is no such delivery. */
export async function findSent(subscription_id: string, webhookId: string): Promise<SentEvent | null> {
  if (!/^evt_[0-9a-f-]{36}$/.test(webhookId)) return null;
  const { data } = await unwrap(
    api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries", {
      params: { path: { subscription_id }, query: { event: webhookId, page_size: 1 } },
    }),
  );
  const found = data[0];
  if (!found) return null;
  const { delivery_id } = found;
  const detail = await readDelivery(subscription_id, delivery_id);
  return { body: bodyOf(detail), signedAt: detail.attempts_made.map(signedAt) };
}

/** The text that is sent and signed. */
export const bodyOf = ({ event }: Schemas["WebhookDeliveryDetail"]): string => JSON.stringify(event);
/** The `webhook-timestamp` of an attempt. */
export const signedAt = ({ at }: Schemas["WebhookAttempt"]): number => Math.floor(Date.parse(at) / 1000);

/** A change of webhooks; afterwards all of them are read anew: a refusal may be of what has changed meanwhile. */
export function useWebhookChange<T, R>(change: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: change, onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }) });
}

type Named<T = object> = T & { readonly subscription_id: string };

export const createSubscription = (body: Schemas["WebhookSubscriptionCreate"]) =>
  unwrap(api.POST("/v2/webhooks/subscriptions", { body }));
/** Changes the subscription that `etag` is of. */
export const changeSubscription = ({
  subscription_id,
  etag,
  ...body
}: Tagged<Named<Schemas["WebhookSubscriptionChange"]>>) => {
  const params = { ...ifMatch(etag), path: { subscription_id } };
  return unwrap(api.PATCH("/v2/webhooks/subscriptions/{subscription_id}", { params, body }));
};
export const deleteSubscription = (subscription_id: string) =>
  unwrap(api.DELETE("/v2/webhooks/subscriptions/{subscription_id}", { params: { path: { subscription_id } } }));
export const testSubscription = (subscription_id: string) =>
  unwrap(api.POST("/v2/webhooks/subscriptions/{subscription_id}/test", { params: { path: { subscription_id } } }));
export const rotateSecret = (subscription_id: string) =>
  unwrap(
    api.POST("/v2/webhooks/subscriptions/{subscription_id}/rotate-secret", { params: { path: { subscription_id } } }),
  );
export const replayEvents = ({ subscription_id, ...body }: Named<Schemas["WebhookReplayCreate"]>) =>
  unwrap(
    api.POST("/v2/webhooks/subscriptions/{subscription_id}/replay", { params: { path: { subscription_id } }, body }),
  );
export const retryDelivery = ({ subscription_id, delivery_id }: Named<{ readonly delivery_id: string }>) =>
  unwrap(
    api.POST("/v2/webhooks/subscriptions/{subscription_id}/deliveries/{delivery_id}/retry", {
      params: { path: { subscription_id, delivery_id } },
    }),
  );
