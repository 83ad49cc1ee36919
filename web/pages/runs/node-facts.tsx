import type { JSX } from "react";
import type { NodeRun } from "../../api/runs.ts";
import { Fact } from "../../parts/facts.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed, Time } from "../../parts/time.tsx";

export function NodeFacts({ node }: { readonly node: NodeRun }): JSX.Element {
  const { usage } = node;
  return (
    <dl className="facts">
      <Fact term="State">
        <Status state={node.state} />
      </Fact>
      <Fact term="Type">
        {node.type} <NodeName name={null} path={node.path} />
      </Fact>
      <Fact term="Started">
        <Time at={node.started_at} />
      </Fact>
      <Fact term="Duration">
        <Elapsed from={node.started_at} to={node.finished_at} />
      </Fact>
      <Fact term="Attempts">{node.attempts}</Fact>
      {usage.total_tokens > 0 && (
        <Fact term="Tokens">
          {usage.input_tokens.toLocaleString()} input, {usage.output_tokens.toLocaleString()} output
          {usage.cost_usd !== null && `, ${dollars(usage.cost_usd)}`}
        </Fact>
      )}
      {node.next_attempt_at !== null && (
        <Fact term="Next attempt">
          <Time at={node.next_attempt_at} isPlanned />
        </Fact>
      )}
    </dl>
  );
}

/** A cost in dollars; small amounts keep their first digits. */
export function dollars(amount: number): string {
  return `${amount === 0 || amount >= 0.01 ? amount.toFixed(4) : amount.toPrecision(2)} USD`;
}

/** The attempts of a node that was retried: time, duration, and error. */
export function Attempts({ log }: { readonly log: NodeRun["attempt_log"] }): JSX.Element | null {
  if (log.length === 0) return null;
  return (
    <>
      <h3>Attempts</h3>
      <ol className="inside" aria-label="Attempts">
        {log.map(({ attempt, started_at, ended_at, error }) => (
          <li key={attempt} className="attempt">
            <strong>{attempt}</strong>
            <Time at={started_at} />
            {(ended_at !== null || error === null) && <Elapsed from={started_at} to={ended_at} />}
            <span className="wrap small">
              {error ? (
                <>
                  <code>{error.code}</code> {error.message}
                </>
              ) : ended_at === null ? (
                "running"
              ) : (
                "succeeded"
              )}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
