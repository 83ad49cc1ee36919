import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useSearchParams } from "react-router";
import { RUN_STATES, RUN_TYPES, RUN_TYPE_NAMES, projectsOptions } from "../../api/runs.ts";
import { Field } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { ProjectSelect } from "../../parts/project-select.tsx";
import { lookOf } from "../../parts/status.tsx";
import { filtersOf, withFilter } from "./filters.ts";
import "./runs.css";

const MORE = [
  "run_type",
  "environment",
  "user_id",
  "tag",
  "parent_run_id",
  "resumed_from",
  "created_after",
  "created_before",
  "stuck",
];

/** All filters of the list. The URL holds them, so that back, reload and shared links keep them. */
export function RunFiltersBar(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const [more, setMore] = useState(MORE.some((name) => search.has(name)));
  const { data: projects } = useQuery(projectsOptions);
  const filters = filtersOf(search);
  const set = (name: string, value: string | readonly string[] | null): void =>
    setSearch(withFilter(search, name, value));
  const states = filters.state ?? [];

  return (
    <section className="panel stack-tight filters" aria-label="Filters">
      <div className="row">
        <ProjectSelect
          projects={projects?.data ?? []}
          value={filters.project_id ?? ""}
          onChange={(project) => set("project_id", project)}
        >
          <option value="">All projects</option>
        </ProjectSelect>
        <div className="chips" role="group" aria-label="States">
          {RUN_STATES.map((state) => {
            const isOn = states.includes(state);
            const { word, tone, icon } = lookOf(state);
            return (
              <button
                key={state}
                type="button"
                className={`chip tone-${tone}`}
                aria-pressed={isOn}
                onClick={() => set("state", isOn ? states.filter((each) => each !== state) : [...states, state])}
              >
                <Icon name={icon} />
                {word}
              </button>
            );
          })}
        </div>
        <button
          type="button"
          className="button button-quiet button-small"
          aria-expanded={more}
          onClick={() => setMore(!more)}
        >
          {more ? "Fewer filters" : "More filters"}
        </button>
        {search.size > 0 && (
          <button
            type="button"
            className="button button-quiet button-small"
            onClick={() => setSearch(new URLSearchParams())}
          >
            Clear filters
          </button>
        )}
      </div>
      {more && (
        <div className="filter-grid">
          <Field label="Run type">
            {(control) => (
              <select
                className="input"
                value={filters.run_type ?? ""}
                onChange={(event) => set("run_type", event.target.value)}
                {...control}
              >
                <option value="">All types</option>
                {RUN_TYPES.map((type) => (
                  <option key={type} value={type}>
                    {RUN_TYPE_NAMES[type]}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <TextFilter name="environment" label="Environment" />
          <TextFilter name="user_id" label="User ID" />
          <TextFilter name="tag" label="Tag" />
          <TextFilter name="parent_run_id" label="Parent run ID" />
          <TextFilter name="resumed_from" label="Resumed from run ID" />
          <TimeFilter name="created_after" label="Created after" />
          <TimeFilter name="created_before" label="Created before" />
          <label className="check">
            <input
              type="checkbox"
              checked={filters.stuck === true}
              onChange={(event) => set("stuck", event.target.checked ? "true" : null)}
            />
            Stuck only
          </label>
        </div>
      )}
    </section>
  );
}

/** Writes the filter to the URL on blur or Enter, not on every key. */
function TextFilter({ name, label }: { readonly name: string; readonly label: string }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const value = search.get(name) ?? "";
  const commit = (next: string): void => {
    if (next !== value) setSearch(withFilter(search, name, next.trim()));
  };
  return (
    <Field label={label}>
      {(control) => (
        <input
          key={value}
          className="input"
          defaultValue={value}
          onBlur={(event) => commit(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") commit(event.currentTarget.value);
          }}
          {...control}
        />
      )}
    </Field>
  );
}

/** Shows local time; the URL and the API use UTC. */
function TimeFilter({ name, label }: { readonly name: string; readonly label: string }): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const value = search.get(name) ?? "";
  return (
    <Field label={label}>
      {(control) => (
        <input
          className="input"
          type="datetime-local"
          value={localTime(value)}
          onChange={(event) =>
            setSearch(
              withFilter(search, name, event.target.value === "" ? null : new Date(event.target.value).toISOString()),
            )
          }
          {...control}
        />
      )}
    </Field>
  );
}

function localTime(utc: string): string {
  const at = Date.parse(utc);
  if (Number.isNaN(at)) return "";
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
