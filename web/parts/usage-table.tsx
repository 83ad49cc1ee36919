import type { JSX, ReactNode } from "react";
import { Table } from "./table.tsx";

export interface UsageRow {
  readonly key: string;
  readonly calls: number;
  readonly total_tokens: number;
  readonly cost_usd: number;
  readonly calls_without_price: number;
}

/** Model usage, one row per group. */
export function UsageTable<Row extends UsageRow>({
  caption,
  head,
  rows,
  nameOf,
}: {
  readonly caption: string;
  /** Name of the grouping. */
  readonly head: string;
  readonly rows: readonly Row[];
  readonly nameOf: (row: Row) => ReactNode;
}): JSX.Element {
  return (
    <Table
      caption={caption}
      rows={rows}
      keyOf={({ key }) => key}
      columns={[
        { id: "key", head, cell: nameOf },
        { id: "calls", head: "Calls", number: true, cell: (row) => row.calls.toLocaleString() },
        { id: "tokens", head: "Tokens", number: true, cell: (row) => row.total_tokens.toLocaleString() },
        {
          id: "cost",
          head: "Cost (USD)",
          number: true,
          // An unknown cost must not look like zero.
          cell: (row) => (row.calls_without_price === row.calls ? "-" : row.cost_usd.toFixed(4)),
        },
      ]}
    />
  );
}
