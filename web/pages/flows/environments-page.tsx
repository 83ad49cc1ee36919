import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { environmentsOptions, promotionsOptions } from "../../api/environments.ts";
import { toProblem } from "../../api/problem.ts";
import { projectOptions } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Missing } from "../missing-flow.tsx";
import { DeleteEnvironment, NewEnvironment, RenameEnvironment, isEnvironmentName } from "./environment-dialogs.tsx";
import { EnvironmentPanel } from "./environment-panel.tsx";
import { PromoteDialog } from "./promote-dialog.tsx";
import { ReviewDialog } from "./review-dialog.tsx";
import { RollBackDialog } from "./roll-back-dialog.tsx";
import "./flows.css";

/** The environments of a flow: which version runs where, with which connections, and how it came there. */
export function EnvironmentsPage(): JSX.Element {
  const { projectId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const project = useQuery(projectOptions(projectId));
  const environments = useQuery(environmentsOptions(projectId));
  const history = useQuery(promotionsOptions(projectId));
  const mayEdit = useMay("editor", projectId);
  if (project.error) return <Missing error={project.error} />;
  if (!project.data) return <Loading what="the flow" />;

  const { name, latest_version } = project.data;
  const shown = search.get("in") ?? "";
  const all = environments.data?.data;
  const open = all?.find((each) => each.name === shown);
  const doing = search.get("do");
  const promoted =
    open ??
    (all && isEnvironmentName(shown) ? { name: shown, version: null, connections: {}, requires_review: false } : null);
  const show = (next: Readonly<Record<string, string>>): void => setSearch(next, { replace: true });
  const close = (): void => show({});
  const repeated = history.data?.data.find(({ promotion_id }) => promotion_id === search.get("to")) ?? null;
  return (
    <>
      <PageHead
        title={`${name} · Environments`}
        about="Which version and which connections the calls of each environment use."
      >
        {mayEdit && latest_version > 0 && (
          <button type="button" className="button" onClick={() => show({ do: "create" })}>
            New environment…
          </button>
        )}
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      {environments.isPending && <Loading what="environments" />}
      {environments.error && (
        <Failure fault={toProblem(environments.error)} retry={() => void environments.refetch()} />
      )}
      {latest_version === 0 && (
        <Empty title="No versions yet">Publish the draft to create version 1. You can then promote it.</Empty>
      )}
      <div className="environments">
        {(all ?? []).map((environment) => (
          <EnvironmentPanel
            key={environment.name}
            projectId={projectId}
            environment={environment}
            onDo={(what) => show({ in: environment.name, do: what })}
          />
        ))}
      </div>
      {history.error && <Failure fault={toProblem(history.error)} retry={() => void history.refetch()} />}
      {history.data && history.data.data.length > 0 && (
        <section className="stack-tight" aria-labelledby="history">
          <h2 id="history">History</h2>
          <Table
            caption="Promotions"
            rows={history.data.data}
            keyOf={({ promotion_id }) => promotion_id}
            columns={[
              { id: "at", head: "When", wideOnly: true, cell: (each) => <Time at={each.promoted_at} /> },
              {
                id: "environment",
                head: "Environment",
                cell: (each) => <span className="wrap">{each.environment}</span>,
              },
              {
                id: "version",
                head: "Version",
                cell: (each) => (
                  <Link data-row className="wrap" to={links.flowVersion(projectId, each.version)}>
                    {each.previous_version === null ? "" : `${each.previous_version} → `}
                    {each.version}
                    {each.kind === "rollback" && " (rolled back)"}
                  </Link>
                ),
              },
              {
                id: "by",
                head: "By",
                wideOnly: true,
                cell: (each) => <span className="wrap">{each.promoted_by_name ?? "A deleted user or key"}</span>,
              },
              {
                id: "notes",
                head: "Notes",
                wideOnly: true,
                cell: (each) => <span className="wrap">{each.notes}</span>,
              },
              {
                id: "again",
                head: "Roll back",
                cell: (each) =>
                  mayEdit && (
                    <button
                      type="button"
                      className="button button-small"
                      aria-label={`Roll back… ${each.environment} to version ${each.version}`}
                      onClick={() => show({ in: each.environment, do: "rollback", to: each.promotion_id })}
                    >
                      Roll back…
                    </button>
                  ),
              },
            ]}
          />
        </section>
      )}
      {promoted && doing === "promote" && latest_version > 0 && (
        <PromoteDialog
          projectId={projectId}
          environment={promoted}
          isNew={open === undefined}
          newest={latest_version}
          onClose={close}
        />
      )}
      {all && doing === "create" && (
        <NewEnvironment taken={all} onName={(next) => show({ in: next, do: "promote" })} onClose={close} />
      )}
      {open && doing === "rename" && (
        <RenameEnvironment project_id={projectId} environment={open.name} onClose={close} />
      )}
      {open && doing === "delete" && (
        <DeleteEnvironment project_id={projectId} environment={open.name} onClose={close} />
      )}
      {open && doing === "rollback" && (
        <RollBackDialog project_id={projectId} environment={open.name} to={repeated} onClose={close} />
      )}
      {open && search.get("review") !== null && (
        <ReviewDialog
          project_id={projectId}
          environment={open.name}
          review_id={search.get("review") ?? ""}
          onClose={close}
        />
      )}
    </>
  );
}
