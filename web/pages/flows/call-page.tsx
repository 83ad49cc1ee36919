import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { projectOptions, ioOptions } from "../../api/projects.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { WAYS } from "../../../src/domain/flow/io/call-code.ts";
import type { Way } from "../../../src/domain/flow/io/call-code.ts";
import { Missing } from "../missing-flow.tsx";
import { Addresses } from "./call-addresses.tsx";
import { CallPanel } from "./call-panel.tsx";
import { VersionSelect } from "./version-select.tsx";
import "./flows.css";

/** How to call a flow: code with the inputs of the form, a key, and the response. */
export function CallPage(): JSX.Element {
  const { projectId = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const project = useQuery(projectOptions(projectId));
  const chosen = Number(search.get("version") ?? "");
  const version = Number.isInteger(chosen) && chosen > 0 ? chosen : null;
  const way: Way = WAYS.find((each) => each === search.get("way")) ?? "sync";
  const published = project.data?.published_version ?? null;
  const io = useQuery({
    ...ioOptions(projectId, version ?? -1),
    enabled: project.data !== undefined && (version !== null || published !== null),
  });
  // Remounted for another version, because its form has other fields.
  const [key, setKey] = useState("");
  const change = (name: string, value: string): void =>
    setSearch((known) => {
      const next = new URLSearchParams(known);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });

  if (project.error) return <Missing error={project.error} />;
  if (!project.data) return <Loading what="the flow" />;
  const { name, latest_version } = project.data;
  return (
    <>
      <PageHead
        title={`${name} · Call it`}
        about="Code and addresses that call the published version, or one that you choose."
      >
        {latest_version > 0 && (
          <VersionSelect
            projectId={projectId}
            label="Version"
            value={version === null ? "" : String(version)}
            onChange={(value) => change("version", value)}
            first={
              <option value="">{published === null ? "Published (none)" : `Published (version ${published})`}</option>
            }
          />
        )}
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      {version === null && published === null ? (
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
              key={`${projectId} ${version}`}
              io={io.data}
              version={version}
              way={way}
              onWay={(next) => change("way", next === "sync" ? "" : next)}
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
        hasVersion={version !== null || published !== null}
      />
    </>
  );
}
