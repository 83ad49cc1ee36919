import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client.ts";
import { toProblem } from "../../api/problem.ts";
import { usageOptions } from "../../api/system.ts";
import { links } from "../../links.ts";
import { HowFarBack, hoursOf } from "../../parts/how-far-back.tsx";
import { PageHead } from "../../parts/page.tsx";
import { useFilters } from "../filters.ts";
import { useProjectName } from "../project-names.ts";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { UsageTable } from "../../parts/usage-table.tsx";

type Row = Schemas["UsageReport"]["data"][number];

/** What models have cost: by model, by project and by day; of all models, or of one. */
export function UsagePage(): JSX.Element {
  const [search, put] = useFilters();
  const hours = hoursOf(search.get("hours"));
  const model = search.get("model") ?? undefined;
  const projectName = useProjectName();
  const { data: models } = useQuery(usageOptions({ group_by: "model", hours: Number(hours) }));
  const names = [...new Set([...(model === undefined ? [] : [model]), ...(models?.data ?? []).map(({ key }) => key)])];
  const query = { hours: Number(hours), ...(model !== undefined && { model }) };
  return (
    <>
      <PageHead title="Usage of models">
        <select
          className="input input-short"
          aria-label="Model"
          data-search
          value={model ?? ""}
          onChange={({ target: { value } }) => put("model", value)}
        >
          <option value="">All models</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <HowFarBack hours={hours} onChange={(chosen) => put("hours", chosen)} />
      </PageHead>
      {model === undefined && (
        <Part
          by="model"
          query={{ ...query, group_by: "model" }}
          nameOf={({ key }) => (
            <Link className="wrap" to={links.usage({ hours, model: key })} data-row>
              {key}
            </Link>
          )}
        />
      )}
      <Part
        by="project"
        query={{ ...query, group_by: "project" }}
        nameOf={({ key }, from) =>
          key === JUDGES ? (
            "Evaluators"
          ) : (
            <Link className="wrap" to={links.runs({ project_id: key, created_after: from })} data-row>
              {projectName(key)}
            </Link>
          )
        }
      />
      <Part by="day (UTC)" query={{ ...query, group_by: "day" }} nameOf={({ key }) => key} />
    </>
  );
}

/** What the API calls the calls of evaluators, which belong to no project. */
const JUDGES = "judges";

function Part({
  by,
  query,
  nameOf,
}: {
  readonly by: string;
  readonly query: Parameters<typeof usageOptions>[0];
  readonly nameOf: (row: Row, from: string) => ReactNode;
}): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(usageOptions(query));
  return (
    <section className="stack-tight" aria-label={`By ${by}`}>
      <h2>By {by}</h2>
      {isPending && <Loading what={`usage by ${by}`} rows={2} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel panel-flush">
          <Empty title="No model was asked">Choose a longer time, or another model.</Empty>
        </div>
      )}
      {data && data.data.length > 0 && (
        <UsageTable
          caption={`Usage by ${by}`}
          head={by.replace(/^./, (first) => first.toUpperCase())}
          rows={data.data}
          nameOf={(row) => nameOf(row, data.from)}
        />
      )}
    </section>
  );
}
