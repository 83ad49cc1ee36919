import type { JSX, ReactNode } from "react";
import { MoreButton } from "../more-button.tsx";
import { Empty, Failure } from "../states.tsx";
import { Fetched, type Query } from "./fetched.tsx";
import "./list.css";

/** A list as one request returns it, or as the pages that have been read so far. */
export type ListData<Row> =
  | { readonly data: readonly Row[]; readonly has_more?: boolean }
  | { readonly pages: ReadonlyArray<{ readonly data: readonly Row[] }> };

/** A list that is read at once or page by page. */
export interface ListQuery<Row> extends Query<ListData<Row>> {
  readonly hasNextPage?: boolean;
  readonly isFetchingNextPage?: boolean;
  readonly isFetchNextPageError?: boolean;
  readonly fetchNextPage?: () => Promise<unknown>;
}

/** What a list says before it has a first row. */
export interface FirstUse {
  readonly title: string;
  readonly text: ReactNode;
  readonly action?: ReactNode;
}

export interface RowsProps<Row> {
  readonly query: ListQuery<Row>;
  /** Plural of what is listed, as in "Loading webhooks" and "No webhooks match these filters". */
  readonly items: string;
  readonly empty: FirstUse;
  /** Removes the filters; only given while there are any. */
  readonly onClear?: (() => void) | undefined;
  /** Height of the placeholder, in rows. */
  readonly placeholder?: number;
  /** Label of the button that reads the next page. */
  readonly more?: string;
  /** Without a panel, for use inside another one. */
  readonly isBare?: boolean;
}

/** The rows of a list in any form, or why there are none, and the button for its next page. */
export function Rows<Row>({
  query,
  items,
  empty,
  onClear,
  placeholder,
  more = "Load more",
  isBare = false,
  children,
}: RowsProps<Row> & { readonly children: (rows: readonly Row[]) => ReactNode }): JSX.Element {
  const { fetchNextPage, isFetchingNextPage = false } = query;
  // The next page has its own error below the rows, because only that page must be read again.
  const isNext = query.isFetchNextPageError === true && fetchNextPage !== undefined;
  return (
    <Fetched
      query={isNext ? { ...query, error: null } : query}
      what={items}
      {...(placeholder !== undefined && { rows: placeholder })}
    >
      {(data) => {
        const listed = rowsOf(data);
        return (
          <>
            {listed.length > 0 && children(listed)}
            {listed.length === 0 && (
              <div className={isBare ? undefined : "panel"}>
                {onClear === undefined ? (
                  <Empty title={empty.title} action={empty.action}>
                    {empty.text}
                  </Empty>
                ) : (
                  <Empty
                    title={`No ${items} match these filters`}
                    action={
                      <button type="button" className="button" onClick={onClear}>
                        Clear filters
                      </button>
                    }
                  />
                )}
              </div>
            )}
            {query.hasNextPage === true && fetchNextPage && (
              <div className="row">
                <MoreButton pages={{ fetchNextPage, isFetchingNextPage }}>{more}</MoreButton>
              </div>
            )}
            {query.hasNextPage === undefined && "data" in data && data.has_more === true && (
              <p className="small muted">
                Showing the first {listed.length.toLocaleString()}. Use the API to list all.
              </p>
            )}
            {isNext && <Failure fault={query.error} retry={() => void fetchNextPage()} />}
          </>
        );
      }}
    </Fetched>
  );
}

const rowsOf = <Row,>(data: ListData<Row>): readonly Row[] =>
  "data" in data ? data.data : data.pages.flatMap((page) => page.data);
