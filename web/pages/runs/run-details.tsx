import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { RUN_TYPE_NAMES, forksOptions, isTerminal, reasonOf, type Run, type RunWithNodes } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyButton, Id, shortId } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { Status } from "../../parts/status.tsx";
import { useProjectName } from "../project-names.ts";
import { nameAt } from "./flow-shape.ts";
import { useNodeNames } from "./node-names.tsx";
import { curlOfRun, curlOfStart } from "./curl.ts";
import { Value } from "../../parts/value.tsx";

/** The run as a whole: inputs, outputs, and its origin. */
export function RunDetails({ run }: { readonly run: RunWithNodes }): JSX.Element {
  const resumed = run.resumed_from;
  const reason = reasonOf(run);
  const isRerun = resumed?.node_id === null && run.nodes?.some(({ reused }) => reused) !== true;
  const nameOf = useProjectName();
  return (
    <div className="stack">
      <div className="spread">
        <h2>Run details</h2>
        <div className="row">
          <CopyButton text={curlOfStart(run)} label="curl command that starts a run like this one">
            Copy start request
          </CopyButton>
          <CopyButton text={curlOfRun(run.run_id)} label="curl command that reads this run">
            Copy read request
          </CopyButton>
        </div>
      </div>
      <p className="muted small">Select a node in the graph or timeline to see its inputs and output.</p>
      <h3>Inputs</h3>
      <Value value={run.inputs} label="Inputs" />
      <h3>Outputs</h3>
      {run.outputs === null ? <p className="muted">No outputs yet.</p> : <Value value={run.outputs} label="Outputs" />}
      <dl className="facts">
        <Fact term="Run type">{RUN_TYPE_NAMES[run.run_type]}</Fact>
        <Fact term="Project">
          <Id id={run.project_id} label="project ID">
            <Link to={links.runs({ project_id: run.project_id })} title={run.project_id}>
              {nameOf(run.project_id)}
            </Link>
          </Id>
        </Fact>
        <Fact term="User">{run.user_id ?? "-"}</Fact>
        <Fact term="Tags">{run.tags.length === 0 ? "-" : run.tags.join(", ")}</Fact>
        {reason !== null && <Fact term="Reason">{reason}</Fact>}
        {run.parent_run_id !== null && (
          <Fact term="Parent run">
            <Id id={run.parent_run_id} label="parent run's ID">
              <Link to={links.run(run.parent_run_id)} title={run.parent_run_id}>
                {shortId(run.parent_run_id)}
              </Link>
            </Id>
          </Fact>
        )}
        {resumed && (
          <Fact term={isRerun ? "Rerun of" : "Resumed from"}>
            <Id id={resumed.run_id} label="earlier run's ID">
              <Link to={links.run(resumed.run_id)} title={resumed.run_id}>
                {shortId(resumed.run_id)}
              </Link>
            </Id>
            <At run={run} path={resumed.path} />
          </Fact>
        )}
        <Forks run={run} />
        <Fact term="Temporal workflow">
          <Id id={run.temporal.workflow_id} label="workflow ID" />
        </Fact>
      </dl>
      {Object.keys(run.metadata).length > 0 && (
        <>
          <h3>Metadata</h3>
          <Value value={run.metadata} label="Metadata" />
        </>
      )}
      <p>
        <Link to={links.runs({ parent_run_id: run.run_id })}>View child runs</Link>
      </p>
    </div>
  );
}

/** Runs that resume or rerun this one. */
function Forks({ run }: { readonly run: RunWithNodes }): JSX.Element | null {
  const { data } = useQuery({ ...forksOptions(run.run_id), enabled: isTerminal(run.state) });
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Fact term="Resumed or rerun as">
      <ul>
        {data.data.map((fork) => (
          <li key={fork.run_id} className="row">
            <Id id={fork.run_id} label="later run's ID">
              <Link to={links.run(fork.run_id)} title={fork.run_id}>
                {shortId(fork.run_id)}
              </Link>
            </Id>
            <At run={run} path={fork.resumed_from?.path ?? null} /> <Status state={fork.state} />
          </li>
        ))}
      </ul>
      {data.has_more && <Link to={links.runs({ resumed_from: run.run_id })}>View all later runs</Link>}
    </Fact>
  );
}

/** Name of the node from which a run was resumed. */
function At({ run, path }: { readonly run: Run; readonly path: string | null }): JSX.Element | null {
  const names = useNodeNames(run);
  if (path === null) return null;
  return (
    <>
      {" at "}
      <NodeName name={nameAt(names, path)} path={path} />
    </>
  );
}
