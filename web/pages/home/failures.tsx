import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { toProblem } from "../../api/problem.ts";
import { failuresOptions, hoursAgo } from "../../api/system.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { ListChanges } from "../../parts/list-changes.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { useProjectName } from "../project-names.ts";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** The runs that failed last: why, and what helps. */
export function Failures({ hours }: { readonly hours: number }): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(failuresOptions(hours));
  const nameOf = useProjectName();
  return (
    <section className="stack-tight" aria-labelledby="failures">
      <div className="spread">
        <h2 id="failures">Failed last</h2>
        <ListChanges name={`failures ${hours}`} ids={data?.data.map(({ run_id }) => run_id)} />
        <Link to={links.runs({ state: "FAILED", created_after: hoursAgo(hours) })}>All that failed</Link>
      </div>
      {isPending && <Loading what="failures" rows={4} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="Nothing failed">No run of this time has failed.</Empty>
        </div>
      )}
      {data && data.data.length > 0 && (
        <ul className="panel panel-flush failures" aria-label="Runs that failed last">
          {data.data.map(({ run_id, project_id, error: fault, finished_at }) => (
            <li key={run_id}>
              <span className="spread">
                <Link to={links.run(run_id)} data-row>
                  <span className="wrap">{nameOf(project_id)}</span> <code className="nowrap">{shortId(run_id)}</code>
                </Link>
                <span className="small muted">
                  <Time at={finished_at} />
                </span>
              </span>
              {fault && (
                <span className="wrap">
                  {fault.path !== null && (
                    <>
                      <NodeName name={fault.node_name} path={fault.path} />:{" "}
                    </>
                  )}
                  <strong>{fault.code}</strong> {fault.message}
                  {fault.hint !== null && <span className="hint">What helps: {fault.hint}</span>}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
