import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { CONNECTION_STATES, connectionPagesOptions, useConnectionCheck } from "../../api/system.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { PageHead } from "../../parts/page.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Failure } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";

type Connection = Schemas["Connection"];

/** Connections, and whether their providers accept the credentials. */
export function ConnectionsPage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const status = CONNECTION_STATES.find((each) => each === search.get("status"));
  const order = useListOrder("created");
  const list = useInfiniteQuery(connectionPagesOptions(status, order.value));
  const mayCheck = useMay("editor");
  const check = useConnectionCheck();
  return (
    <>
      <PageHead about="Encrypted credentials for other services.">
        <StateSelect
          label="State"
          states={CONNECTION_STATES}
          value={status}
          onChange={(chosen) => setSearch(chosen === "" ? {} : { status: chosen })}
        />
      </PageHead>
      {check.error && <Failure fault={check.error} />}
      <List
        query={list}
        order={order}
        items="connections"
        caption="Connections"
        keyOf={({ connection_id }) => connection_id}
        empty={{
          title: "No connections yet",
          text: "Flows need a connection to call a service that requires a credential.",
          action: <a href="/docs#createConnection">Add connection</a>,
        }}
        onClear={status === undefined ? undefined : () => setSearch({})}
        columns={[
          { id: "state", head: "State", cell: (each) => <Status state={each.status} /> },
          {
            id: "name",
            head: "Name",
            cell: (each) => (
              <span className="wrap">
                {each.name} <CopyButton text={each.connection_id} label={`ID of ${each.name}`} />
                {each.status_reason !== null && <span className="narrow-only small">{each.status_reason}</span>}
              </span>
            ),
          },
          { id: "provider", head: "Provider", wideOnly: true, cell: (each) => <code>{each.provider_id}</code> },
          {
            id: "reason",
            head: "Reason",
            wideOnly: true,
            cell: (each) => <span className="wrap">{each.status_reason ?? "-"}</span>,
          },
          { id: "checked", head: "Last checked", wideOnly: true, cell: (each) => <Time at={each.last_checked_at} /> },
          { id: "created", head: "Created", wideOnly: true, cell: (each) => <Time at={each.created_at} /> },
          ...(mayCheck
            ? [
                {
                  id: "actions",
                  head: "Actions",
                  cell: (each: Connection) => (
                    <button
                      type="button"
                      className="button button-small"
                      aria-label={`Check ${each.name}`}
                      data-row
                      disabled={check.isPending || each.status === "disabled"}
                      onClick={() => check.mutate(each.connection_id)}
                    >
                      Check
                    </button>
                  ),
                },
              ]
            : []),
        ]}
      />
    </>
  );
}
