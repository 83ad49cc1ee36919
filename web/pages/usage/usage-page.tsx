import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client.ts";
import { usageOptions } from "../../api/system.ts";
import { links } from "../../links.ts";
import { HowFarBack, hoursOf } from "../../parts/how-far-back.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { useFilters } from "../filters.ts";
import { useProjectName } from "../project-names.ts";
import { Empty } from "../../parts/states.tsx";
import { UsageTable } from "../../parts/usage-table.tsx";

/** The longest time range that can be chosen. */
const LONGEST = "720";

type Row = Schemas["UsageReport"]["data"][number];

/** Cost of model calls by model, project and day; for all models, or for one. */
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
      <PageHead about="Calls, tokens and cost by model, project and day.">
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
          empty={
            <Empty
              title="No model calls"
              action={
                hours !== LONGEST && (
                  <button type="button" className="button" onClick={() => put("hours", LONGEST)}>
                    Change time range
                  </button>
                )
              }
            >
              Model calls in this time range appear here.
            </Empty>
          }
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
        {...(model !== undefined && {
          empty: (
            <Empty
              title="No model calls match these filters"
              action={
                <button type="button" className="button" onClick={() => put("model", null)}>
                  Clear filters
                </button>
              }
            />
          ),
        })}
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

/** The key under which the API sums calls of evaluators, which belong to no project. */
const JUDGES = "judges";

function Part({
  by,
  query,
  nameOf,
  empty,
}: {
  readonly by: string;
  readonly query: Parameters<typeof usageOptions>[0];
  readonly nameOf: (row: Row, from: string) => ReactNode;
  /** Shown if there are no calls. */
  readonly empty?: ReactNode;
}): JSX.Element | null {
  const usage = useQuery(usageOptions(query));
  // Without calls all parts are empty, and only the first says so.
  if (usage.data?.data.length === 0 && empty === undefined) return null;
  return (
    <section className="stack-tight" aria-label={`By ${by}`}>
      <h2>By {by}</h2>
      <Fetched query={usage} what={`usage by ${by}`} rows={2}>
        {({ data, from }) =>
          data.length === 0 ? (
            <div className="panel">{empty}</div>
          ) : (
            <UsageTable
              caption={`Usage by ${by}`}
              head={by.replace(/^./, (first) => first.toUpperCase())}
              rows={data}
              nameOf={(row) => nameOf(row, from)}
            />
          )
        }
      </Fetched>
    </section>
  );
}
