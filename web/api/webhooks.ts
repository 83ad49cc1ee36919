import { infiniteQueryOptions, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged, type Schemas, type Tagged } from "./client.ts";
import { everyPage, keyOfOrder, type Direction } from "./every-page.ts";

export type Subscription = Schemas["WebhookSubscription"];
export type Delivery = Schemas["WebhookDelivery"];
export const DELIVERY_STATES = ["pending", "retrying", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** All webhooks, or only failing ones. */
export const subscriptionsOptions = (which: "all" | "failing", order: Direction = "desc") => {
  const filter = which === "failing" ? { failing: true } : {};
  return queryOptions({
    queryKey: ["webhooks", "list", filter, ...keyOfOrder(order)],
    queryFn: () =>
      everyPage((query) =>
        unwrap(api.GET("/v2/webhooks/subscriptions", { params: { query: { ...query, ...filter, order } } })),
      ),
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

export const deliveriesOptions = (subscription_id: string, status: DeliveryState | undefined, order: Direction) =>
  infiniteQueryOptions({
    queryKey: ["webhooks", "deliveries", { subscription_id, status, order }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries", {
          params: {
            path: { subscription_id },
            query: { ...(status && { status }), order, ...(pageParam !== null && { cursor: pageParam }) },
          },
        }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    // Not refetched: `useDeliveriesInPlace` updates the listed deliveries.
    staleTime: Number.POSITIVE_INFINITY,
  });

const POLL_MS = 5000;
/** Deliveries that are read one by one at the same time if the newest page does not include them. */
const ONE_BY_ONE = 20;

/**
 * Polls the unfinished deliveries of a list and updates their rows in place. Returns the newest deliveries, which the
 * list may not show yet.
 */
export function useDeliveriesInPlace(
  subscription_id: string,
  status: DeliveryState | undefined,
  order: "asc" | "desc",
  deliveries: readonly Delivery[],
): { readonly data: readonly Delivery[]; readonly has_more: boolean } | undefined {
  const client = useQueryClient();
  const { queryKey } = deliveriesOptions(subscription_id, status, order);
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

/** The recorded body of a delivery and the times of its attempts. */
export interface SentEvent {
  readonly body: string;
  /** When each attempt was signed (s since 1970). */
  readonly signedAt: readonly number[];
}

/** Finds the delivery with a `webhook-id`; null if the webhook has none. */
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

/** The exact text that is sent and signed. */
export const bodyOf = ({ event }: Schemas["WebhookDeliveryDetail"]): string => JSON.stringify(event);
/** The value of `webhook-timestamp` for an attempt. */
export const signedAt = ({ at }: Schemas["WebhookAttempt"]): number => Math.floor(Date.parse(at) / 1000);

/** Changes webhooks, then refetches all of them: a refusal may come from a change by someone else. */
export function useWebhookChange<T, R>(change: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: change, onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }) });
}

type Named<T = object> = T & { readonly subscription_id: string };

export const createSubscription = (body: Schemas["WebhookSubscriptionCreate"]) =>
  unwrap(api.POST("/v2/webhooks/subscriptions", { body }));
/** Changes the webhook that `etag` belongs to. */
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
