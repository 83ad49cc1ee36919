import { onTestFinished } from "vitest";
import { webhookProblem } from "../../../src/domain/webhooks/webhook-signature.ts";
import {
  startHttpTarget,
  type HttpTarget,
  type ReceivedRequest,
  type TargetHandler,
} from "../../support/http-target.ts";

/** A delivery as it arrived. */
export interface Received {
  readonly id: string;
  readonly at: number;
  readonly request: ReceivedRequest;
  readonly event: { readonly id: string; readonly type: string; readonly data: Readonly<Record<string, unknown>> };
}

/** A webhook receiver whose responses the test controls. */
export interface Receiver {
  readonly target: HttpTarget;
  /** The URL for deliveries. */
  readonly url: string;
  readonly received: () => Received[];
  /** How often each webhook-id arrived. */
  counts(): Map<string, number>;
  /** Sets the response from now on; default 204. */
  answer(handler: TargetHandler): void;
  /** Deliveries whose signature matches none of the secrets. */
  forged(...secrets: string[]): string[];
}

const PATH = "/hook";

/** Starts a receiver that stops when the test ends, or through `onEnd`. */
export async function startReceiver(onEnd: (close: () => Promise<void>) => void = onTestFinished): Promise<Receiver> {
  const target = await startHttpTarget();
  onEnd(() => target.close());
  target.on(PATH, (_, response) => void response.writeHead(204).end());
  const deliveries = (): ReceivedRequest[] => target.requests.filter((request) => request.path === PATH);
  return {
    target,
    url: `${target.url}${PATH}`,
    received: () =>
      deliveries().map((request) => ({
        id: request.headers["webhook-id"] ?? "",
        at: request.at,
        request,
        event: JSON.parse(request.body),
      })),
    counts() {
      const counts = new Map<string, number>();
      for (const { headers } of deliveries()) {
        const id = headers["webhook-id"] ?? "";
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      return counts;
    },
    answer: (handler) => target.on(PATH, handler),
    forged: (...secrets) =>
      deliveries()
        .filter(({ headers, body, at }) =>
          secrets.every((secret) => webhookProblem(headers, body, secret, at) !== null),
        )
        .map(({ headers }) => headers["webhook-id"] ?? ""),
  };
}
