import type { JSX } from "react";
import { Link } from "react-router";
import type { RunWithNodes } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { MarkdownLine } from "../../parts/markdown/markdown.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed, Time } from "../../parts/time.tsx";

/** State of a run in one line of facts. */
export function Summary({ run }: { readonly run: RunWithNodes }): JSX.Element {
  const { usage, progress_data: done } = run;
  const facts: ReadonlyArray<readonly [string, JSX.Element | string | number]> = [
    ["State", <Status key="state" state={run.state} />],
    ["Run ID", <Id key="id" id={run.run_id} label="run ID" />],
    ["Version", run.flow_version],
    ...(run.environment === null ? [] : [["Environment", run.environment] as const]),
    ["Created", <Time key="created" at={run.created_at} />],
    ["Duration", <Elapsed key="duration" from={run.started_at} to={run.finished_at} />],
    ["Nodes", `${done.completed_nodes + done.skipped_nodes} of ${done.total_nodes}`],
    ["Tokens", usage.total_tokens === 0 ? "-" : usage.total_tokens.toLocaleString()],
    ["Cost", usage.total_tokens === 0 || usage.cost_usd === null ? "-" : `${usage.cost_usd.toFixed(4)} USD`],
  ];
  return (
    <dl className="panel facts facts-line">
      {facts.map(([term, fact]) => (
        <Fact key={term} term={term}>
          {fact}
        </Fact>
      ))}
    </dl>
  );
}

/** The error of a run, or what it waits for, with a link to the node; shown above everything else. */
export function Trouble({
  run,
  onSelect,
}: {
  readonly run: RunWithNodes;
  readonly onSelect: (path: string) => void;
}): JSX.Element {
  const open = run.pauses.filter(({ status }) => status === "waiting");
  const { error, waiting_for: waiting } = run;
  return (
    <>
      {error && (
        <div className="notice notice-bad">
          <span className="wrap">
            {error.path !== null && (
              <>
                <NodeName name={error.node_name} path={error.path} />:{" "}
              </>
            )}
            <strong>{error.code}</strong> {error.message}
            <Hint text={error.hint} />
          </span>
          {error.path !== null && <ShowNode path={error.path} onSelect={onSelect} />}
        </div>
      )}
      {waiting && (
        <div className="notice notice-warn">
          <span className="wrap">
            Retrying <NodeName name={waiting.node_name} path={waiting.path} />: {waiting.reason}
            {waiting.next_attempt_at !== null && (
              <span className="hint">
                Next attempt <Time at={waiting.next_attempt_at} isPlanned />.
              </span>
            )}
          </span>
          <ShowNode path={waiting.path} onSelect={onSelect} />
        </div>
      )}
      {open.map((pause) => (
        <div key={pause.pause_id} className="notice">
          <span className="wrap">
            Waiting for approval:{" "}
            <strong>
              <MarkdownLine text={pause.message} />
            </strong>
          </span>
          <Link className="button button-small" to={links.pause(pause.pause_id)}>
            Review
          </Link>
        </div>
      ))}
    </>
  );
}

/** How to fix an error, below the error itself. */
export function Hint({ text }: { readonly text: string | null }): JSX.Element | null {
  if (text === null) return null;
  return <span className="hint">How to fix: {text}</span>;
}

function ShowNode({
  path,
  onSelect,
}: {
  readonly path: string;
  readonly onSelect: (path: string) => void;
}): JSX.Element {
  return (
    <button type="button" className="button button-small" onClick={() => onSelect(path)}>
      Show node
    </button>
  );
}
