import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { projectActivityOptions } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import type { FirstUse } from "../../parts/list/rows.tsx";
import { Notice } from "../../parts/states.tsx";
import { CreateDialog, wayIn, type Way } from "./create-dialog.tsx";
import { FlowTable, type Row } from "./flow-table.tsx";
import { compare, sortingIn } from "./flow-order.ts";
import { ancestors, contentOf } from "./folders.ts";
import "./flows.css";

/** Rows that are drawn at first, and more at each press of the button. */
const PAGE = 100;

/** All flows, in folders by the slashes in their names. */
export function FlowsPage(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch } = useQuery(projectActivityOptions);
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
  const sorting = sortingIn(search, (column, value) =>
    setSearch((known) => {
      const next = new URLSearchParams(known);
      next.set("sort", column);
      next.set("order", value);
      return next;
    }),
  );
  const { folders, items } = isSearch ? { folders: [], items: found } : contentOf(all, folder);
  const rows: readonly Row[] = [
    ...folders.map((each) => ({ folder: each })).toSorted(compare(sorting)),
    ...items.map((flow) => ({ flow })).toSorted(compare(sorting)),
  ];
  const shown = rows.slice(0, pages * PAGE);

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
      <FlowTable
        isSearch={isSearch}
        sorting={sorting}
        query={{
          data: data && { data: shown },
          error,
          refetch,
          hasNextPage: shown.length < rows.length,
          fetchNextPage: async () => setPages(pages + 1),
        }}
        more={`Show more (${rows.length.toLocaleString()} in total)`}
        empty={firstUse(mayCreate, create)}
        onClear={all.length === 0 ? undefined : () => setSearch(new URLSearchParams())}
      />
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

const firstUse = (mayCreate: boolean, onCreate: (way: Way) => void): FirstUse => ({
  title: "No flows yet",
  text: (
    <>
      A flow is a graph of nodes that you can call as an API. Create one here or run{" "}
      <code>millrace deploy flow.json</code>.
    </>
  ),
  action: mayCreate && (
    <span className="row">
      <button type="button" className="button button-primary" onClick={() => onCreate("empty")}>
        Create flow
      </button>
      <button type="button" className="button" onClick={() => onCreate("example")}>
        Start from an example
      </button>
    </span>
  ),
});
