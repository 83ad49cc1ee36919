import { useInfiniteQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { DELIVERY_STATES, deliveriesOptions, useDeliveriesInPlace, type Delivery } from "../../api/webhooks.ts";
import { useFilters } from "../filters.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { List } from "../../parts/list/list.tsx";
import { NewerNotice } from "../../parts/list-changes.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { DeliveryDialog } from "./delivery.tsx";
import { Replay } from "./replay.tsx";

const SHOWN = { wideOnly: true, choice: "shown" } as const;
const HIDDEN = { wideOnly: true, choice: "hidden" } as const;

/** Deliveries of a webhook; the dialog of a delivery has its own URL. */
export function Deliveries({ subscriptionId }: { readonly subscriptionId: string }): JSX.Element {
  const [search, put] = useFilters();
  const order = search.get("order") === "asc" ? "asc" : "desc";
  const status = DELIVERY_STATES.find((each) => each === search.get("status"));
  const chosen = search.get("delivery");
  const isEditor = useMay("editor");
  const [isReplaying, setReplaying] = useState(false);
  const list = useInfiniteQuery(deliveriesOptions(subscriptionId, status, order));
  const columns: ReadonlyArray<Column<Delivery>> = [
    { id: "state", head: "State", cell: (each) => <Status state={each.status} /> },
    {
      id: "event",
      head: "Event",
      cell: (each) => (
        <span className="wrap">
          <Link to={links.webhook(subscriptionId, { ...(status && { status }), delivery: each.delivery_id })} data-row>
            {each.event_type}
          </Link>
          {each.last_error !== null && <span className="narrow-only small muted">{each.last_error}</span>}
        </span>
      ),
    },
    {
      id: "id",
      head: "Event ID",
      ...HIDDEN,
      cell: (each) => <code title={each.event_id}>{shortId(each.event_id)}</code>,
    },
    { id: "attempts", head: "Attempts", number: true, ...SHOWN, cell: (each) => each.attempts },
    {
      id: "answer",
      head: "Last response",
      ...SHOWN,
      cell: (each) => <span className="wrap">{each.last_error ?? each.last_status_code ?? "-"}</span>,
    },
    { id: "next", head: "Next attempt", ...SHOWN, cell: (each) => <Time at={each.next_attempt_at} isPlanned /> },
    { id: "created", head: "Created", cell: (each) => <Time at={each.created_at} /> },
    { id: "ended", head: "Finished", ...HIDDEN, cell: (each) => <Time at={each.finished_at} /> },
  ];
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  const newest = useDeliveriesInPlace(subscriptionId, status, order, rows);
  return (
    <section className="stack-tight" aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      {status === "failed" && rows.length > 0 && isEditor && (
        <div className="row">
          <button type="button" className="button" onClick={() => setReplaying(true)}>
            Replay failed deliveries…
          </button>
        </div>
      )}
      {isReplaying && <Replay subscriptionId={subscriptionId} onClose={() => setReplaying(false)} />}
      <List
        query={list}
        items="deliveries"
        caption="Delivery list"
        more="Load older deliveries"
        keyOf={(each) => each.delivery_id}
        columns={columns}
        order={{
          column: "created",
          value: order,
          onChange: (value) => put("order", value === "desc" ? null : value),
        }}
        empty={{
          title: "No deliveries yet",
          text: "Deliveries appear here as subscribed events happen. Choose Send test event to create one.",
        }}
        onClear={status === undefined ? undefined : () => put("status", null)}
        line={
          <>
            {order === "desc" && (
              <NewerNotice
                newest={newest}
                top={list.data && (rows[0]?.delivery_id ?? "")}
                idOf={({ delivery_id }) => delivery_id}
                words={["delivery", "deliveries"]}
                isReading={list.isRefetching}
                onShow={() => void list.refetch()}
              />
            )}
            <StateSelect
              label="State"
              states={DELIVERY_STATES}
              value={status}
              onChange={(chosen) => put("status", chosen)}
            />
          </>
        }
      />
      {chosen !== null && (
        <DeliveryDialog subscriptionId={subscriptionId} deliveryId={chosen} onClose={() => put("delivery", null)} />
      )}
    </section>
  );
}
