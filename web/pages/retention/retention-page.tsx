import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { retentionOptions } from "../../api/retention.ts";
import { projectsOptions } from "../../api/runs.ts";
import { limitsOptions } from "../../api/system.ts";
import { PageHead } from "../../parts/page.tsx";
import { ProjectSelect } from "../../parts/project-select.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { duration } from "../../parts/time.tsx";
import { Policy } from "./policy.tsx";

/** What is kept how long, and who has set that; admins set fewer days for runs. */
export function RetentionPage(): JSX.Element {
  const isViewer = useMay("viewer");
  const isAdmin = useMay("admin");
  return (
    <>
      <PageHead title="Retention" />
      {isViewer && (
        <section className="panel stack" aria-labelledby="organisation">
          <h2 id="organisation">Runs of the organisation</h2>
          <p className="muted">With their nodes, events and values. The fewest days of all that are set count.</p>
          <Policy
            projectId={null}
            whose="the organisation"
            mayChange={isAdmin}
            sourceOf={() => "who operates the installation"}
          />
        </section>
      )}
      <Project isViewer={isViewer} />
      <Others />
    </>
  );
}

/** The runs of one project; which one is in the address. */
function Project({ isViewer }: { readonly isViewer: boolean }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const { data: projects, error, isPending, refetch } = useQuery(projectsOptions);
  const { data: above } = useQuery({ ...retentionOptions(null), enabled: isViewer });
  const chosen = projects?.data.find(({ project_id }) => project_id === search.get("project")) ?? projects?.data[0];
  const mayChange = useMay("admin", chosen?.project_id);
  return (
    <section className="panel stack" aria-labelledby="project">
      <h2 id="project">Runs of a project</h2>
      {isPending && <Loading what="projects" rows={3} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {projects && chosen === undefined && <Empty title="No project yet">Runs belong to projects.</Empty>}
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
              if (above === undefined) return "the organisation or who operates the installation";
              return above.run_days === effective_run_days ? "the organisation" : "who operates the installation";
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

/** What nobody sets here. */
function Others(): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(limitsOptions);
  const installation = "who operates the installation";
  const rows: readonly Kept[] = [
    {
      what: "Events and deliveries of webhooks",
      long: duration((data?.event_retention_seconds ?? 0) * 1000),
      by: installation,
    },
    { what: "Results of monitors", long: duration((data?.monitor_retention_days ?? 0) * 86_400_000), by: installation },
    {
      what: "Answers to an Idempotency-Key",
      long: duration((data?.idempotency_seconds ?? 0) * 1000),
      by: installation,
    },
    { what: "Documents, knowledge bases, skills, datasets", long: "until they are deleted", by: "-" },
  ];
  return (
    <section className="stack-tight" aria-labelledby="others">
      <h2 id="others">What else is kept</h2>
      {isPending && <Loading what="what else is kept" rows={4} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && (
        <Table
          caption="Everything else"
          rows={rows}
          keyOf={({ what }) => what}
          columns={[
            { id: "what", head: "What", cell: ({ what }) => <span className="wrap">{what}</span> },
            { id: "long", head: "How long", cell: ({ long }) => long },
            { id: "by", head: "Set by", wideOnly: true, cell: ({ by }) => by },
          ]}
        />
      )}
    </section>
  );
}
