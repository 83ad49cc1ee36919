import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { environmentsOptions } from "../../api/environments.ts";
import { projectOptions, ioOptions } from "../../api/projects.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { WAYS, type Way } from "../../../src/domain/flow/io/call-code.ts";
import { Missing } from "../missing-flow.tsx";
import { Addresses } from "./call-addresses.tsx";
import { CallPanel } from "./call-panel.tsx";
import { VersionSelect } from "./version-select.tsx";
import "./flows.css";

/** Prefix of an environment among the versions to choose from. */
const IN = "in ";

/** How to call a flow: code with the inputs of the form, a key, and the response. */
export function CallPage(): JSX.Element {
  const { projectId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const project = useQuery(projectOptions(projectId));
  const chosen = Number(search.get("version") ?? "");
  const version = Number.isInteger(chosen) && chosen > 0 ? chosen : null;
  const environment = version === null ? search.get("environment") : null;
  const environments = useQuery(environmentsOptions(projectId));
  const way: Way = WAYS.find((each) => each === search.get("way")) ?? "sync";
  const published = project.data?.published_version ?? null;
  const io = useQuery({
    ...ioOptions(projectId, environment === null ? { version: version ?? -1 } : { environment }),
    enabled: project.data !== undefined && (version !== null || environment !== null || published !== null),
  });
  // Remounted for another version, because its form has other fields.
  const [key, setKey] = useState("");
  const change = (values: Readonly<Record<string, string>>): void =>
    setSearch((known) => {
      const next = new URLSearchParams(known);
      for (const [name, value] of Object.entries(values))
        if (value === "") next.delete(name);
        else next.set(name, value);
      return next;
    });

  if (project.error) return <Missing error={project.error} />;
  if (!project.data) return <Loading what="the flow" />;
  const { name, latest_version } = project.data;
  const hasVersion = version !== null || environment !== null || published !== null;
  return (
    <>
      <PageHead
        title={`${name} · Call it`}
        about="Code and addresses that call the published version, or what you choose."
      >
        {latest_version > 0 && (
          <VersionSelect
            projectId={projectId}
            label="Version"
            value={environment === null ? String(version ?? "") : IN + environment}
            onChange={(value) =>
              value.startsWith(IN)
                ? change({ version: "", environment: value.slice(IN.length) })
                : change({ version: value, environment: "" })
            }
            first={
              <>
                <option value="">{published === null ? "Published (none)" : `Published (version ${published})`}</option>
                {(environments.data?.data ?? [])
                  .filter((each) => each.name !== "production" && (each.version !== null || each.name === environment))
                  .map((each) => (
                    <option key={each.name} value={IN + each.name}>
                      {each.name} {each.version === null ? "(none)" : `(version ${each.version})`}
                    </option>
                  ))}
              </>
            }
          />
        )}
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      {!hasVersion ? (
        <Empty
          title="Not published yet"
          action={
            <Link className="button button-primary" to={links.flow(projectId)}>
              Versions
            </Link>
          }
        >
          Calls run the published version. Publish a version, or choose one above.
        </Empty>
      ) : (
        <>
          {io.error && <Failure fault={toProblem(io.error)} retry={() => void io.refetch()} />}
          {io.isPending && <Loading what="the inputs" />}
          {io.data && (
            <CallPanel
              key={`${projectId} ${version} ${environment}`}
              io={io.data}
              version={version}
              environment={environment}
              way={way}
              onWay={(next) => change({ way: next === "sync" ? "" : next })}
              apiKey={key}
              onKey={setKey}
            />
          )}
        </>
      )}
      <Addresses
        projectId={projectId}
        name={name}
        version={version}
        environment={environment}
        hasVersion={hasVersion}
      />
    </>
  );
}
