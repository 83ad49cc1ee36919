import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { toProblem } from "../../api/problem.ts";
import { DELIVERY_STATES, deliveriesOptions, useDeliveriesInPlace } from "../../api/webhooks.ts";
import { useFilters } from "../filters.ts";
import { links } from "../../links.ts";
import { useColumns } from "../../parts/columns.tsx";
import { shortId } from "../../parts/copy.tsx";
import { NewerNotice } from "../../parts/list-changes.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Empty, Failure, Loading, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { DeliveryDialog } from "./delivery.tsx";
import { Replay } from "./replay.tsx";

const SHOWN = { wideOnly: true, choice: "shown" } as const;
const HIDDEN = { wideOnly: true, choice: "hidden" } as const;

/** What a subscription was sent; one of it in a dialog, which has an address. */
export function Deliveries({ subscriptionId }: { readonly subscriptionId: string }): JSX.Element {
  const [search, put] = useFilters();
  const status = DELIVERY_STATES.find((each) => each === search.get("status"));
  const chosen = search.get("delivery");
  const isEditor = useMay("editor");
  const [isReplaying, setReplaying] = useState(false);
  const list = useInfiniteQuery(deliveriesOptions(subscriptionId, status));
  const { shown, chooser } = useColumns<Schemas["WebhookDelivery"]>("deliveries", [
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
      head: "Event id",
      ...HIDDEN,
      cell: (each) => <code title={each.event_id}>{shortId(each.event_id)}</code>,
    },
    { id: "attempts", head: "Attempts", number: true, ...SHOWN, cell: (each) => each.attempts },
    {
      id: "answer",
      head: "Last answer",
      ...SHOWN,
      cell: (each) => <span className="wrap">{each.last_error ?? each.last_status_code ?? "-"}</span>,
    },
    { id: "next", head: "Next attempt", ...SHOWN, cell: (each) => <Time at={each.next_attempt_at} isPlanned /> },
    { id: "created", head: "Created", cell: (each) => <Time at={each.created_at} /> },
    { id: "ended", head: "Ended", ...HIDDEN, cell: (each) => <Time at={each.finished_at} /> },
  ]);
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  const newest = useDeliveriesInPlace(subscriptionId, status, rows);
  return (
    <section className="stack-tight" aria-labelledby="deliveries" data-list>
      <h2 id="deliveries">Deliveries</h2>
      <div className="list-line">
        <NewerNotice
          newest={newest}
          top={list.data && (rows[0]?.delivery_id ?? "")}
          idOf={({ delivery_id }) => delivery_id}
          words={["delivery", "deliveries"]}
          isReading={list.isRefetching}
          onShow={() => void list.refetch()}
        />
        <StateSelect
          label="State"
          states={DELIVERY_STATES}
          value={status}
          onChange={(chosen) => put("status", chosen)}
        />
        {chooser}
      </div>
      {status === "failed" && rows.length > 0 && isEditor && (
        <div className="row">
          <button type="button" className="button" onClick={() => setReplaying(true)}>
            Send all that failed again…
          </button>
        </div>
      )}
      {isReplaying && <Replay subscriptionId={subscriptionId} onClose={() => setReplaying(false)} />}
      {list.isPending && <Loading what="deliveries" />}
      {list.error !== null && <Failure fault={toProblem(list.error)} retry={() => void list.refetch()} />}
      {list.data && rows.length === 0 && (
        <Empty title={status === undefined ? "Nothing has been sent yet" : "No delivery is in this state"}>
          Events that the subscription asks for appear here as they happen.
        </Empty>
      )}
      {rows.length > 0 && (
        <Table caption="What was sent" rows={rows} keyOf={(each) => each.delivery_id} columns={shown} />
      )}
      {list.hasNextPage && (
        <div className="row">
          <MoreButton pages={list}>Older deliveries</MoreButton>
        </div>
      )}
      {chosen !== null && (
        <DeliveryDialog subscriptionId={subscriptionId} deliveryId={chosen} onClose={() => put("delivery", null)} />
      )}
      {list.isRefetchError && <Notice tone="warn">The list could not be read anew.</Notice>}
    </section>
  );
}
