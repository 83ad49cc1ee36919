import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";

export type Subscription = Schemas["WebhookSubscription"];
export const DELIVERY_STATES = ["pending", "retrying", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

const PAGE = { page_size: 200 };

export const subscriptionsOptions = queryOptions({
  queryKey: ["webhooks", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/webhooks/subscriptions", { params: { query: PAGE } })),
  refetchInterval: 10_000,
});

export const subscriptionOptions = (subscription_id: string) =>
  queryOptions({
    queryKey: ["webhooks", "detail", subscription_id],
    queryFn: () =>
      unwrap(api.GET("/v2/webhooks/subscriptions/{subscription_id}", { params: { path: { subscription_id } } })),
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
    refetchInterval: 5000,
  });

export const deliveryOptions = (subscription_id: string, delivery_id: string) =>
  queryOptions({
    queryKey: ["webhooks", "delivery", { subscription_id, delivery_id }],
    queryFn: () =>
      unwrap(
        api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries/{delivery_id}", {
          params: { path: { subscription_id, delivery_id } },
        }),
      ),
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
  const detail = await unwrap(
    api.GET("/v2/webhooks/subscriptions/{subscription_id}/deliveries/{delivery_id}", {
      params: { path: { subscription_id, delivery_id } },
    }),
  );
  return { body: bodyOf(detail), signedAt: detail.attempts_made.map(signedAt) };
}

/** The text that is sent and signed. */
export const bodyOf = ({ event }: Schemas["WebhookDeliveryDetail"]): string => JSON.stringify(event);
/** The `webhook-timestamp` of an attempt. */
export const signedAt = ({ at }: Schemas["WebhookAttempt"]): number => Math.floor(Date.parse(at) / 1000);

/** A change of webhooks; afterwards all of them are read anew. */
export function useWebhookChange<T, R>(change: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: change, onSuccess: () => client.invalidateQueries({ queryKey: ["webhooks"] }) });
}

type Named<T = object> = T & { readonly subscription_id: string };

export const createSubscription = (body: Schemas["WebhookSubscriptionCreate"]) =>
  unwrap(api.POST("/v2/webhooks/subscriptions", { body }));
export const changeSubscription = ({ subscription_id, ...body }: Named<Schemas["WebhookSubscriptionChange"]>) =>
  unwrap(api.PATCH("/v2/webhooks/subscriptions/{subscription_id}", { params: { path: { subscription_id } }, body }));
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
