import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { projectMonitorsOptions, projectTriggersOptions } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { titleOfTrigger } from "../trigger-title.ts";

/** The environment that needs no mention. */
const PRODUCTION = "production";

/** What calls the flow, and where its runs, their retention and its members are. */
export function UsedBy({ project }: { readonly project: Schemas["ProjectWithUsers"] }): JSX.Element {
  const { project_id, used_by = [], published_version } = project;
  const isViewer = useMay("viewer");
  const isAdmin = useMay("admin", project_id);
  const { data: triggers } = useQuery(projectTriggersOptions(project_id));
  const { data: monitors } = useQuery({ ...projectMonitorsOptions(project_id), enabled: isViewer });
  return (
    <section className="panel stack" aria-labelledby="used">
      <h2 id="used">Used by</h2>
      <Group title="Flows" empty="No published flow calls this one.">
        {used_by.map((user) => (
          <li key={user.project_id}>
            <Link className="wrap" to={links.flow(user.project_id)}>
              {user.name}
            </Link>
          </li>
        ))}
      </Group>
      <Group title="Triggers" empty="No triggers start this flow.">
        {(triggers?.data ?? []).map((trigger) => (
          <li key={trigger.id} className="spread">
            <Link className="wrap" to={links.trigger(project_id, trigger.id)}>
              {titleOfTrigger(trigger)}
            </Link>
            <span className="row small muted">
              {trigger.environment !== PRODUCTION && trigger.environment}
              {!trigger.enabled && <Status state="disabled" />}
              {trigger.last_error !== null && <Status state="error" />}
              {trigger.last_run_id === null ? (
                "Has not fired yet"
              ) : (
                <Link to={links.run(trigger.last_run_id)}>
                  <Time at={trigger.last_fired_at} />
                </Link>
              )}
            </span>
          </li>
        ))}
      </Group>
      {isViewer && (
        <Group title="Monitors" empty="No monitors score its runs.">
          {(monitors?.data ?? []).map(({ monitor_id, name, environment, status, sampling_rate }) => (
            <li key={monitor_id} className="spread">
              <span className="wrap">{name}</span>
              <span className="row small muted">
                {Math.round(sampling_rate * 100)} % of runs
                {environment !== PRODUCTION && ` in ${environment}`} <Status state={status} />
              </span>
            </li>
          ))}
        </Group>
      )}
      <Group title="Tools" empty="A flow is a tool for assistants once it is published.">
        {published_version !== null && (
          <li>
            <Link to={links.flowCall(project_id)}>MCP URL and OpenAPI document</Link>
          </li>
        )}
      </Group>
      <ul className="row see-also">
        <li>
          <Link to={links.runs({ project_id })}>Runs</Link>
        </li>
        <li>
          <Link to={links.retention({ project: project_id })}>Retention</Link>
        </li>
        {isAdmin && (
          <li>
            <Link to={links.access("members", { project: project_id })}>Members</Link>
          </li>
        )}
      </ul>
    </section>
  );
}

function Group({
  title,
  empty,
  children,
}: {
  readonly title: string;
  readonly empty: string;
  readonly children: ReactNode;
}): JSX.Element {
  const isEmpty = children === false || (Array.isArray(children) && children.length === 0);
  return (
    <div className="stack-tight">
      <h3>{title}</h3>
      {isEmpty ? <p className="small muted">{empty}</p> : <ul className="stack-tight">{children}</ul>}
    </div>
  );
}
