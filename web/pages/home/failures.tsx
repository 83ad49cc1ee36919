import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { failuresOptions, hoursAgo } from "../../api/system.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { ListChanges } from "../../parts/list-changes.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { useProjectName } from "../project-names.ts";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** The most recent failed runs: the reason, and how to fix it. */
export function Failures({ hours }: { readonly hours: number }): JSX.Element {
  const failures = useQuery(failuresOptions(hours));
  const nameOf = useProjectName();
  return (
    <section className="stack-tight" aria-labelledby="failures">
      <div className="spread">
        <h2 id="failures">Recent failures</h2>
        <ListChanges name={`failures ${hours}`} ids={failures.data?.data.map(({ run_id }) => run_id)} />
        <Link to={links.runs({ state: "FAILED", created_after: hoursAgo(hours) })}>View all failed runs</Link>
      </div>
      <Fetched query={failures} what="failures" rows={4}>
        {({ data }) =>
          data.length === 0 ? (
            <div className="panel">
              <Empty title="No failures">No run created in this time range has failed.</Empty>
            </div>
          ) : (
            <ul className="panel panel-flush failures" aria-label="Recent failed runs">
              {data.map(({ run_id, project_id, error: fault, finished_at }) => (
                <li key={run_id}>
                  <span className="spread">
                    <Link to={links.run(run_id)} data-row>
                      <span className="wrap">{nameOf(project_id)}</span>{" "}
                      <code className="nowrap">{shortId(run_id)}</code>
                    </Link>
                    <span className="small muted">
                      <Time at={finished_at} />
                    </span>
                  </span>
                  {fault && (
                    <span className="wrap">
                      <span className="clamp" title={fault.message}>
                        {fault.path !== null && (
                          <>
                            <NodeName name={fault.node_name} path={fault.path} />:{" "}
                          </>
                        )}
                        <strong>{fault.code}</strong> {fault.message}
                      </span>
                      {fault.hint !== null && <span className="hint clamp">How to fix: {fault.hint}</span>}
                    </span>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Fetched>
    </section>
  );
}
