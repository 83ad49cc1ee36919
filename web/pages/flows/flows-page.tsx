import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { projectActivityOptions } from "../../api/projects.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading, Notice } from "../../parts/states.tsx";
import { CreateDialog, wayIn } from "./create-dialog.tsx";
import type { Way } from "./create-dialog.tsx";
import { FlowTable } from "./flow-table.tsx";
import { ancestors, byName, contentOf } from "./folders.ts";
import "./flows.css";

/** Rows that are drawn at first, and more at each press of the button. */
const PAGE = 100;

/** All flows, in folders by the slashes in their names. */
export function FlowsPage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const { data, error, isPending, refetch } = useQuery(projectActivityOptions);
  const mayCreate = useMay("editor");
  const [pages, setPages] = useState(1);
  const folder = search.get("in") ?? "";
  const wanted = search.get("q") ?? "";
  const way = wayIn(search.get("create"));

  const change = (name: string, value: string | null): void =>
    setSearch(
      (known) => {
        const next = new URLSearchParams(known);
        if (value === null || value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: name === "q" },
    );
  const create = (chosen: Way | null): void => change("create", chosen);

  const all = data?.data ?? [];
  const isSearch = wanted.trim() !== "";
  const words = wanted.toLowerCase().split(/\s+/);
  const found = all.filter(({ name, description, project_id }) => {
    const text = `${name} ${description} ${project_id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const { folders, items } = isSearch ? { folders: [], items: found.toSorted(byName) } : contentOf(all, folder);
  const shown = items.slice(0, pages * PAGE);

  return (
    <>
      <PageHead title="Flows" about="Projects with their flow, versions and published version.">
        <input
          className="input flows-search"
          type="search"
          aria-label="Search flows"
          placeholder="Search flows"
          data-search
          value={wanted}
          onChange={(event) => change("q", event.target.value)}
        />
        {mayCreate && (
          <button type="button" className="button button-primary" onClick={() => create("empty")}>
            <Icon name="plus" /> Create flow
          </button>
        )}
      </PageHead>
      {folder !== "" && !isSearch && <Folders folder={folder} />}
      {isPending && <Loading what="flows" />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && all.length === 0 && <FirstUse mayCreate={mayCreate} onCreate={create} />}
      {data && all.length > 0 && folders.length + items.length === 0 && (
        <Empty
          title="No flows match these filters"
          action={
            <Link className="button" to={links.flows()}>
              Clear filters
            </Link>
          }
        >
          {isSearch ? "Search looks at names, descriptions and IDs in all folders." : "This folder has no flows."}
        </Empty>
      )}
      {folders.length + shown.length > 0 && <FlowTable folders={folders} flows={shown} isSearch={isSearch} />}
      {shown.length < items.length && (
        <div className="row">
          <button type="button" className="button" onClick={() => setPages(pages + 1)}>
            Show more ({items.length.toLocaleString()} in total)
          </button>
        </div>
      )}
      {data?.has_more === true && (
        <Notice tone="info">Showing the newest {all.length.toLocaleString()}. Use the API to list all.</Notice>
      )}
      {way && mayCreate && <CreateDialog way={way} folder={folder} onWay={create} onClose={() => create(null)} />}
    </>
  );
}

/** The folders around the current one. */
function Folders({ folder }: { readonly folder: string }): JSX.Element {
  const above = ancestors(folder);
  return (
    <nav className="crumbs" aria-label="Folders">
      <Link to={links.flows()}>All flows</Link>
      {above.map((path) => (
        <span key={path}>
          <span className="muted" aria-hidden="true">
            /
          </span>{" "}
          <Link to={links.flows({ in: path })} aria-current={path === folder ? "page" : undefined}>
            {path.slice(path.lastIndexOf("/") + 1)}
          </Link>
        </span>
      ))}
    </nav>
  );
}

function FirstUse({
  mayCreate,
  onCreate,
}: {
  readonly mayCreate: boolean;
  readonly onCreate: (way: Way) => void;
}): JSX.Element {
  return (
    <Empty
      title="No flows yet"
      action={
        mayCreate && (
          <span className="row">
            <button type="button" className="button button-primary" onClick={() => onCreate("empty")}>
              Create flow
            </button>
            <button type="button" className="button" onClick={() => onCreate("example")}>
              Start from an example
            </button>
          </span>
        )
      }
    >
      A flow is a graph of nodes that you can call as an API. Create one here or run{" "}
      <code>millrace deploy flow.json</code>.
    </Empty>
  );
}
