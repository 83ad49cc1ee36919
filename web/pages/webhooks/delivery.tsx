import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { bodyOf, deliveryOptions, retryDelivery, signedAt, useWebhookChange } from "../../api/webhooks.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { CopyButton, Id } from "../../parts/copy.tsx";
import { curl } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time, duration } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";
import { SignatureChecker, type SignatureStart } from "./signature-checker.tsx";

/** The sent event, and the response to each attempt. */
export function DeliveryDialog({
  subscriptionId,
  deliveryId,
  onClose,
}: {
  readonly subscriptionId: string;
  readonly deliveryId: string;
  readonly onClose: () => void;
}): JSX.Element {
  const isEditor = useMay("editor");
  const delivery = useQuery(deliveryOptions(subscriptionId, deliveryId));
  const retry = useWebhookChange(retryDelivery);
  const [checked, setChecked] = useState<SignatureStart | null>(null);
  if (checked)
    return <SignatureChecker subscriptionId={subscriptionId} start={checked} onClose={() => setChecked(null)} />;
  return (
    <Dialog title="Delivery" onClose={onClose} wide>
      <Fetched query={delivery} what="the delivery">
        {(data) => (
          <>
            <div className="spread">
              <span className="row">
                <Status state={data.status} /> <strong>{data.event_type}</strong>{" "}
                <Id id={data.event_id} label="event ID" />
              </span>
              {isEditor && (
                <button
                  type="button"
                  className="button"
                  disabled={retry.isPending}
                  onClick={() => retry.mutate({ subscription_id: subscriptionId, delivery_id: deliveryId })}
                >
                  Redeliver
                </button>
              )}
            </div>
            {retry.error && <Failure fault={retry.error} />}
            {retry.isSuccess && <Notice tone="good">Redelivery started.</Notice>}
            <h3>Payload</h3>
            <Value value={data.event} label="Event payload" />
            <h3>Attempts</h3>
            {data.attempts_made.length === 0 && <p className="muted">No attempts yet.</p>}
            <ol className="stack-tight">
              {data.attempts_made.map((attempt) => (
                <Attempt
                  key={attempt.attempt}
                  attempt={attempt}
                  headers={headersOf(data, attempt)}
                  body={bodyOf(data)}
                  onCheck={setChecked}
                />
              ))}
            </ol>
          </>
        )}
      </Fetched>
    </Dialog>
  );
}

/** The headers that differ between attempts. The signature is computed per attempt and not stored. */
function headersOf(
  delivery: Schemas["WebhookDeliveryDetail"],
  attempt: Schemas["WebhookAttempt"],
): Record<string, string> {
  return {
    "content-type": "application/json",
    "webhook-id": delivery.event_id,
    "webhook-timestamp": String(signedAt(attempt)),
  };
}

function Attempt({
  attempt,
  headers,
  body,
  onCheck,
}: {
  readonly attempt: Schemas["WebhookAttempt"];
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly onCheck: (start: SignatureStart) => void;
}): JSX.Element {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <li className="panel stack-tight">
      <span className="spread">
        <strong>
          {attempt.attempt}. {attempt.status_code ?? attempt.error?.code ?? "No response"}
        </strong>
        <span className="muted">
          <Time at={attempt.at} /> · {duration(attempt.duration_ms)}
        </span>
      </span>
      <details>
        <summary>Request</summary>
        <div className="stack-tight">
          <pre
            className="value-box value-text wrap"
            role="group"
            tabIndex={0}
            aria-label={`Request of attempt ${attempt.attempt}`}
          >
            {[`POST ${attempt.url}`, ...lines, "webhook-signature: v1,… (computed per attempt, not stored)"].join("\n")}
          </pre>
          <div className="row">
            <CopyButton text={curl({ method: "POST", url: attempt.url, headers, body })} label="request as curl">
              Copy as curl
            </CopyButton>
            <button
              type="button"
              className="button button-small"
              onClick={() => onCheck({ headers: [...lines, "webhook-signature: "].join("\n"), body })}
            >
              Check signature…
            </button>
          </div>
        </div>
      </details>
      {attempt.error && <span className="wrap">{attempt.error.message}</span>}
      {attempt.response_body !== null && attempt.response_body !== "" ? (
        <Value value={attempt.response_body} label={`Response to attempt ${attempt.attempt}`} />
      ) : (
        attempt.status_code !== null && <span className="muted">Empty response body.</span>
      )}
    </li>
  );
}
