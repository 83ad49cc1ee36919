import type { JSX } from "react";
import { Link } from "react-router";
import { ApiProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";

/** Page for an item that was not found or could not be read. */
export function DetailFailure({
  what,
  error,
  retry,
}: {
  /** Singular name of the item, for example "experiment"; its plural must end in "s". */
  readonly what: string;
  readonly error: Error | null;
  readonly retry: () => void;
}): JSX.Element {
  const title = `${what.slice(0, 1).toUpperCase()}${what.slice(1)}`;
  const isMissing = error instanceof ApiProblem && (error.status === 404 || error.status === 422);
  return (
    <>
      <PageHead />
      {isMissing ? (
        <Empty title={`${title} not found`} action={<Link to={links.background()}>All {what}s</Link>}>
          The {what} may have been deleted, or it belongs to another organisation.
        </Empty>
      ) : (
        <Failure fault={error} retry={retry} />
      )}
    </>
  );
}
