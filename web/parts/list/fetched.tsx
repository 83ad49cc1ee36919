import type { JSX, ReactNode } from "react";
import { Failure, Loading } from "../states.tsx";

/** The state of a request, as a query hook returns it. */
export interface Query<Data> {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/**
 * Shows what a request has returned. Until then it shows a placeholder; after a failure, the error with a button to
 * retry, above the last data if there is any.
 */
export function Fetched<Data>({
  query: { data, error, refetch },
  what,
  rows,
  missing,
  children,
}: {
  readonly query: Query<Data>;
  /** What is requested, as in "Loading users". */
  readonly what: string;
  /** Height of the placeholder, in rows. */
  readonly rows?: number;
  /** Shown instead of the error if there is no such resource, or its ID cannot be one. */
  readonly missing?: ReactNode;
  /** Omitted by a component that renders this only until it has data. */
  readonly children?: (data: Data) => ReactNode;
}): JSX.Element {
  const hasFailed = error !== null && error !== undefined;
  if (data === undefined && !hasFailed) return <Loading what={what} {...(rows !== undefined && { rows })} />;
  if (data === undefined && missing !== undefined && isMissing(error)) return <>{missing}</>;
  return (
    <>
      {hasFailed && <Failure fault={error} retry={() => void refetch()} />}
      {data !== undefined && children?.(data)}
    </>
  );
}

const isMissing = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "status" in error && (error.status === 404 || error.status === 422);
