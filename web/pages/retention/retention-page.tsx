import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { retentionOptions } from "../../api/retention.ts";
import { projectsOptions } from "../../api/runs.ts";
import { limitsOptions } from "../../api/system.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { ProjectSelect } from "../../parts/project-select.tsx";
import { Empty } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { duration } from "../../parts/time.tsx";
import { Policy } from "./policy.tsx";

/** How long each type of data is kept, and who has set it; admins can change the days for runs. */
export function RetentionPage(): JSX.Element {
  const isViewer = useMay("viewer");
  const isAdmin = useMay("admin");
  return (
    <>
      <PageHead about="How long runs and other data are kept." />
      {isViewer && (
        <section className="panel stack" aria-labelledby="organisation">
          <h2 id="organisation">Runs of the organisation</h2>
          <p className="muted">Includes nodes, events and values. The shortest setting applies.</p>
          <Policy projectId={null} whose="the organisation" mayChange={isAdmin} sourceOf={() => "the operator"} />
        </section>
      )}
      <Project isViewer={isViewer} />
      <Others />
    </>
  );
}

/** The retention of one project, chosen in the URL. */
function Project({ isViewer }: { readonly isViewer: boolean }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const query = useQuery(projectsOptions);
  const { data: projects } = query;
  const { data: above } = useQuery({ ...retentionOptions(null), enabled: isViewer });
  const chosen = projects?.data.find(({ project_id }) => project_id === search.get("project")) ?? projects?.data[0];
  const mayChange = useMay("admin", chosen?.project_id);
  return (
    <section className="panel stack" aria-labelledby="project">
      <h2 id="project">Runs of a project</h2>
      <Fetched query={query} what="projects" rows={3}>
        {() =>
          chosen === undefined && (
            <Empty title="No projects yet">Retention can be set per project once you create one.</Empty>
          )
        }
      </Fetched>
      {projects && chosen && (
        <>
          <div className="row">
            <ProjectSelect
              projects={projects.data}
              value={chosen.project_id}
              onChange={(project) => setSearch({ project })}
            />
          </div>
          <Policy
            key={chosen.project_id}
            projectId={chosen.project_id}
            whose="this project"
            mayChange={mayChange}
            sourceOf={({ effective_run_days }) => {
              if (above === undefined) return "the organisation or the operator";
              return above.run_days === effective_run_days ? "the organisation" : "the operator";
            }}
          />
        </>
      )}
    </section>
  );
}

interface Kept {
  readonly what: string;
  readonly long: ReactNode;
  readonly by: string;
}

/** Retention that cannot be changed in the console. */
function Others(): JSX.Element {
  const limits = useQuery(limitsOptions);
  const { data } = limits;
  const operator = "the operator";
  const rows: readonly Kept[] = [
    {
      what: "Webhook events and deliveries",
      long: duration((data?.event_retention_seconds ?? 0) * 1000),
      by: operator,
    },
    { what: "Monitor results", long: duration((data?.monitor_retention_days ?? 0) * 86_400_000), by: operator },
    {
      what: "Idempotency records",
      long: duration((data?.idempotency_seconds ?? 0) * 1000),
      by: operator,
    },
    { what: "Documents, knowledge bases, skills, datasets", long: "until they are deleted", by: "-" },
  ];
  return (
    <section className="stack-tight" aria-labelledby="others">
      <h2 id="others">Other data</h2>
      <Fetched query={limits} what="the other data" rows={4}>
        {() => (
          <Table
            caption="Other retention times"
            rows={rows}
            keyOf={({ what }) => what}
            columns={[
              { id: "what", head: "Data", cell: ({ what }) => <span className="wrap">{what}</span> },
              { id: "long", head: "Kept for", cell: ({ long }) => long },
              { id: "by", head: "Set by", wideOnly: true, cell: ({ by }) => by },
            ]}
          />
        )}
      </Fetched>
    </section>
  );
}
