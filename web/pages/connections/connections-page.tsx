import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { CONNECTION_STATES, connectionPagesOptions, useConnectionCheck } from "../../api/system.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageHead } from "../../parts/page.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

/** The connections to other services, and whether these take their credentials. */
export function ConnectionsPage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const status = CONNECTION_STATES.find((each) => each === search.get("status"));
  const list = useInfiniteQuery(connectionPagesOptions(status));
  const mayCheck = useMay("editor");
  const check = useConnectionCheck();
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      <PageHead title="Connections">
        <StateSelect
          label="State"
          states={CONNECTION_STATES}
          value={status}
          onChange={(chosen) => setSearch(chosen === "" ? {} : { status: chosen })}
        />
      </PageHead>
      {check.error && <Failure fault={toProblem(check.error)} />}
      {list.isPending && <Loading what="connections" />}
      {list.error !== null && <Failure fault={toProblem(list.error)} retry={() => void list.refetch()} />}
      {list.data && rows.length === 0 && (
        <Empty title={status === undefined ? "No connection yet" : "No connection is in this state"}>
          Connections hold the credentials that flows use; <code>POST /v2/connections</code> makes one.
        </Empty>
      )}
      {rows.length > 0 && (
        <Table
          caption="Connections"
          rows={rows}
          keyOf={({ connection_id }) => connection_id}
          columns={[
            { id: "state", head: "State", cell: (each) => <Status state={each.status} /> },
            {
              id: "name",
              head: "Name",
              cell: (each) => (
                <span className="wrap">
                  {each.name} <CopyButton text={each.connection_id} label={`id of ${each.name}`} />
                  {each.status_reason !== null && <span className="narrow-only small">{each.status_reason}</span>}
                </span>
              ),
            },
            { id: "provider", head: "Provider", wideOnly: true, cell: (each) => <code>{each.provider_id}</code> },
            {
              id: "reason",
              head: "Why",
              wideOnly: true,
              cell: (each) => <span className="wrap">{each.status_reason ?? "-"}</span>,
            },
            { id: "checked", head: "Checked", wideOnly: true, cell: (each) => <Time at={each.last_checked_at} /> },
            ...(mayCheck
              ? [
                  {
                    id: "actions",
                    head: "Actions",
                    cell: (each: (typeof rows)[number]) => (
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
      )}
      {list.hasNextPage && (
        <div className="row">
          <MoreButton pages={list}>Later ones</MoreButton>
        </div>
      )}
    </>
  );
}
