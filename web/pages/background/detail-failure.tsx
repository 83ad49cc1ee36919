import type { JSX } from "react";
import { Link } from "react-router";
import { ApiProblem, toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";

/** The page of something that cannot be read: it is not there, or the request failed. */
export function DetailFailure({
  what,
  error,
  retry,
}: {
  /** "experiment", say; its plural ends with an s. */
  readonly what: string;
  readonly error: Error | null;
  readonly retry: () => void;
}): JSX.Element {
  const isMissing = error instanceof ApiProblem && (error.status === 404 || error.status === 422);
  return (
    <>
      <PageHead title={`${what.slice(0, 1).toUpperCase()}${what.slice(1)}`} />
      {isMissing ? (
        <Empty title={`There is no such ${what}`} action={<Link to={links.background()}>All {what}s</Link>}>
          It may have been deleted, or belong to another organisation.
        </Empty>
      ) : (
        <Failure fault={toProblem(error)} retry={retry} />
      )}
    </>
  );
}
