import type { JSX } from "react";
import { Link } from "react-router";
import { toProblem } from "../api/problem.ts";
import { links } from "../links.ts";
import { PageHead } from "../parts/page.tsx";
import { Empty, Failure } from "../parts/states.tsx";

/** In place of a flow, version or draft that cannot be read. */
export function Missing({ error }: { readonly error: Error }): JSX.Element {
  const problem = toProblem(error);
  if (problem.status !== 404) return <Failure fault={problem} />;
  return (
    <>
      <PageHead title="Flow not found" />
      <Empty
        title="Flow not found"
        action={
          <Link className="button" to={links.flows()}>
            All flows
          </Link>
        }
      >
        It may have been deleted, or it belongs to another organisation.
      </Empty>
    </>
  );
}
