import { expect } from "vitest";
import { Webhook } from "standardwebhooks";
import type { Answer, TestClient } from "../../support/client.ts";
import type { ReceivedRequest } from "../../support/http-target.ts";

export const SUBSCRIPTIONS = "/v2/webhooks/subscriptions";

/** A new webhook with its secret and its path. */
export interface Subscribed {
  readonly id: string;
  readonly path: string;
  readonly secret: string;
  readonly etag: string;
}

export async function subscribe(api: TestClient, members: Record<string, unknown>): Promise<Subscribed> {
  const { status, body, headers } = await api.post(SUBSCRIPTIONS, { events: ["run.*"], ...members });
  expect(status, JSON.stringify(body)).toBe(201);
  return {
    id: body.subscription_id,
    path: `${SUBSCRIPTIONS}/${body.subscription_id}`,
    secret: body.secret,
    etag: headers.get("etag") ?? "",
  };
}

/** Waits until a delivery is in this state; returns its details. */
export async function delivered(api: TestClient, path: string, deliveryId: string, status = "delivered") {
  let answer: Answer | undefined;
  await expect
    .poll(async () => (answer = await api.get(`${path}/deliveries/${deliveryId}`)).body.status, { timeout: 20_000 })
    .toBe(status);
  return (answer as Answer).body;
}

/** Whether a receiver that follows Standard Webhooks would accept the request. */
export function verifies(request: ReceivedRequest, secret: string): boolean {
  try {
    new Webhook(secret).verify(request.body, request.headers);
    return true;
  } catch {
    return false;
  }
}

/** The locations of a 422. */
export function places(answer: Answer): unknown[] {
  expect(answer.status, JSON.stringify(answer.body)).toBe(422);
  return answer.body.detail.map((issue: { loc: unknown }) => issue.loc);
}
