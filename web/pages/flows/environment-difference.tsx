import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import type { EnvironmentDifference } from "../../api/environments.ts";
import { connectionsOptions } from "../../api/system.ts";
import { links } from "../../links.ts";
import { Fact } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icons.tsx";

/** What a promotion would change, beside the decision about it. */
export function DifferenceFacts({
  projectId,
  difference,
}: {
  readonly projectId: string;
  readonly difference: EnvironmentDifference;
}): JSX.Element {
  const { current_version, version, experiments } = difference;
  const names = useConnectionNames();
  const nameOf = (id: string | null): string => (id === null ? "none" : (names.get(id) ?? id));
  return (
    <section className="stack-tight" aria-label="Difference">
      <div className="spread">
        <strong>
          {current_version === null
            ? `Version ${version} is the first one here`
            : current_version === version
              ? `Version ${version} runs here now`
              : `Version ${current_version} to version ${version}`}
        </strong>
        {current_version !== null && current_version !== version && (
          <Link
            className="button button-small"
            to={links.flowCompare(projectId, String(current_version), String(version))}
          >
            <Icon name="compare" /> Show on the canvas
          </Link>
        )}
      </div>
      <dl className="facts">
        {(["inputs", "outputs", "nodes"] as const).map((part) => (
          <Fact key={part} term={part.charAt(0).toUpperCase() + part.slice(1)}>
            {changesOf(difference[part])}
          </Fact>
        ))}
        <Fact term="Connections">
          {difference.connections.length === 0
            ? "No change"
            : difference.connections.map(({ connection_id, before, after }) => (
                <div key={connection_id} className="wrap">
                  {nameOf(before)} → {nameOf(after)}
                </div>
              ))}
        </Fact>
        {experiments === null ? (
          <Fact term="Experiments">No experiment has both versions</Fact>
        ) : (
          <>
            <Fact term="Pass rate">
              <Link to={links.experiment(experiments.current.experiment_id)}>
                {share(experiments.current.pass_rate)}
              </Link>{" "}
              →{" "}
              <Link to={links.experiment(experiments.version.experiment_id)}>
                {share(experiments.version.pass_rate)}
              </Link>
            </Fact>
            <Fact term="Cost">
              {cost(experiments.current)} → {cost(experiments.version)}
            </Fact>
          </>
        )}
      </dl>
    </section>
  );
}

/** The names of the organisation's connections by ID; empty for people who cannot see them. */
export function useConnectionNames(): ReadonlyMap<string, string> {
  const { data } = useQuery(connectionsOptions);
  return new Map((data?.data ?? []).map(({ connection_id, name }) => [connection_id, name]));
}

const share = (rate: number | null): string => (rate === null ? "no passes" : `${Math.round(rate * 1000) / 10} %`);
const cost = ({ cost_usd, rows }: { readonly cost_usd: number; readonly rows: number }): string =>
  `$${cost_usd.toFixed(4)} for ${rows} rows`;

function changesOf({ added, removed, changed }: EnvironmentDifference["inputs"]): string {
  const parts = [
    ["Added", added],
    ["Removed", removed],
    ["Changed", changed],
  ] as const;
  const said = parts.filter(([, ids]) => ids.length > 0).map(([word, ids]) => `${word}: ${ids.join(", ")}`);
  return said.length === 0 ? "No change" : said.join(" · ");
}
