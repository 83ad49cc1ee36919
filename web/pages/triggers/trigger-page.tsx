import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { flowProjectOptions } from "../../api/flows.ts";
import { isStale } from "../../api/problem.ts";
import { changeTrigger, triggerOptions, useTriggerAction, type ShownTrigger } from "../../api/triggers.ts";
import { links } from "../../links.ts";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { ChangedMeanwhile, Failure, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { titleOfTrigger } from "../trigger-title.ts";
import { Firings } from "./firings.tsx";
import { TriggerSettings } from "./trigger-settings.tsx";

/** A trigger of a flow: what it waits for, its settings, and each time that it fired. */
export function TriggerPage(): JSX.Element {
  const { projectId = "", triggerId = "" } = useParams();
  const trigger = useQuery(triggerOptions(triggerId));
  const { data: project } = useQuery(flowProjectOptions(projectId));
  if (trigger.data === undefined)
    return (
      <>
        {trigger.error !== null && <PageHead />}
        <Fetched query={trigger} what="the trigger" />
        {trigger.error !== null && <Link to={links.flow(projectId)}>Flow</Link>}
      </>
    );
  const { data } = trigger;
  const [next] = data.next_times ?? [];
  return (
    <>
      <PageHead title={titleOfTrigger(data)}>
        <Link className="button" to={links.flow(data.project_id)}>
          <Icon name="flows" /> {project?.name ?? "Flow"}
        </Link>
        <Switch trigger={data} />
      </PageHead>
      {data.warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      <dl className="panel facts facts-line">
        <Fact term="State">
          <Status state={data.enabled ? "enabled" : "disabled"} />
        </Fact>
        <Fact term="Last fired">
          {data.last_run_id === null ? (
            <Time at={data.last_fired_at} />
          ) : (
            <Link to={links.run(data.last_run_id)}>
              <Time at={data.last_fired_at} />
            </Link>
          )}
        </Fact>
        {next !== undefined && (
          <Fact term="Next">
            <Time at={next} isPlanned />
          </Fact>
        )}
        {data.last_error !== null && (
          <Fact term="Last error">
            <span className="wrap">{data.last_error}</span> <Time at={data.last_error_at} />
          </Fact>
        )}
        <Fact term="Trigger ID">
          <Id id={data.id} label="trigger ID" />
        </Fact>
      </dl>
      <TriggerSettings key={data.etag} trigger={data} />
      <Firings trigger={data} />
    </>
  );
}

function Switch({
  trigger: { id, etag, project_id, enabled },
}: {
  readonly trigger: ShownTrigger;
}): JSX.Element | null {
  const mayEdit = useMay("editor", project_id);
  const change = useTriggerAction(changeTrigger);
  if (!mayEdit) return null;
  return (
    <>
      {isStale(change.error) ? <ChangedMeanwhile /> : change.error && <Failure fault={change.error} />}
      <button
        type="button"
        className="button"
        disabled={change.isPending}
        onClick={() => change.mutate({ id, etag, enabled: !enabled })}
      >
        {enabled ? "Disable" : "Enable"}
      </button>
    </>
  );
}
