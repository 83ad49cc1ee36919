import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useDeferredValue, useState, type JSX } from "react";
import { useMay } from "../../../api/accounts.ts";
import { roleToCreate, type Creatable } from "../../../api/create.ts";
import { toProblem } from "../../../api/problem.ts";
import { actionOptions, actionPagesOptions, referablesOptions, type Referable } from "../../../api/referables.ts";
import { valueAt } from "../../../flow/access.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Field } from "../../../parts/field.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { useFieldProps } from "../../../parts/schema-form/frame.tsx";
import type { ControlProps } from "../../../parts/schema-form/form-context.ts";
import { useNodeForm } from "./panel-context.ts";

const CreateDialog = lazy(async () => ({ default: (await import("./create-dialog.tsx")).CreateDialog }));

/** What can be referred to: its name, and what is created for it. An action comes with its provider. */
const KINDS: Readonly<Record<string, { readonly name: string; readonly create?: Creatable }>> = {
  connection: { name: "connection", create: "connection" },
  knowledge_base: { name: "knowledge base", create: "knowledge_base" },
  project: { name: "flow", create: "project" },
  skill: { name: "skill", create: "skill" },
  provider: { name: "provider", create: "provider" },
  action: { name: "action" },
};

/** A field that holds the ID of something of the organisation: its name, a dialog to choose another, and one to create it. */
export function ReferenceField(props: ControlProps): JSX.Element {
  const { schema, value, change, path, required } = props;
  const { config, isReadOnly } = useNodeForm();
  const [open, setOpen] = useState<"choose" | "create" | null>(null);
  const close = (): void => setOpen(null);
  const kind = schema["x-reference"] ?? "";
  const { name, create } = KINDS[kind] ?? { name: kind.replaceAll("_", " ") };
  const mayCreate = useMay(create === undefined ? "editor" : roleToCreate(create)) && !isReadOnly;
  // The provider stands beside its action and its connection.
  const provider = valueAt(config, [...path.slice(1, -1), "provider_id"]);
  const providerId = typeof provider === "string" ? provider : undefined;
  const id = typeof value === "string" ? value : "";
  // A skill can be named with its version.
  const [bare = "", version] = kind === "skill" ? id.split("@") : [id];
  const found = useFound(kind, bare, providerId);
  const set = (next: string | undefined): void => change(path, next);
  const isWaiting = kind === "action" && providerId === undefined;
  const shown = id === "" ? (isWaiting ? "Choose a provider first" : `Choose ${name}…`) : (found?.name ?? id);
  return (
    <>
      <Field {...useFieldProps(props)}>
        {(control) => (
          <div className="reference">
            <button
              type="button"
              className="input reference-button"
              disabled={isReadOnly || isWaiting}
              aria-haspopup="dialog"
              onClick={() => setOpen("choose")}
              aria-label={`${props.label}: ${shown}`}
              {...control}
            >
              <span className={id === "" ? "muted" : "reference-name"}>
                {shown}
                {version !== undefined && <span className="muted"> @{version}</span>}
              </span>
            </button>
            {id !== "" && !required && !isReadOnly && (
              <button type="button" className="button button-small" onClick={() => set(undefined)}>
                Clear
              </button>
            )}
            {create !== undefined && mayCreate && (
              <button
                type="button"
                className="button button-quiet button-small"
                aria-haspopup="dialog"
                onClick={() => setOpen("create")}
              >
                {kind === "provider" ? "Import" : "Create"}
                <span className="visually-hidden"> {name}</span>
              </button>
            )}
          </div>
        )}
      </Field>
      {open === "create" && create !== undefined && (
        <Suspense>
          <CreateDialog
            kind={create}
            providerId={providerId}
            onCreated={(next) => {
              set(next);
              close();
            }}
            onClose={close}
          />
        </Suspense>
      )}
      {open === "choose" && (
        // Keys that are pressed in the dialog are not for the editor around it.
        <div role="presentation" onKeyDown={(event) => event.stopPropagation()}>
          <Dialog title={`Choose ${name}`} onClose={close}>
            {kind === "action" ? (
              <Actions
                providerId={providerId ?? ""}
                onChoose={(next) => {
                  set(next);
                  close();
                }}
              />
            ) : (
              <Listed
                kind={kind}
                name={name}
                providerId={kind === "connection" ? providerId : undefined}
                onChoose={(next) => {
                  set(next);
                  close();
                }}
              />
            )}
          </Dialog>
        </div>
      )}
    </>
  );
}

function useFound(kind: string, id: string, providerId: string | undefined): { readonly name: string } | undefined {
  const isAction = kind === "action";
  const { data: list } = useQuery({ ...referablesOptions(kind), enabled: !isAction && id !== "" });
  const { data: action } = useQuery({
    ...actionOptions(providerId ?? "", id),
    enabled: isAction && id !== "" && providerId !== undefined,
    retry: false,
  });
  return isAction ? action : list?.find((each) => each.id === id);
}

function Listed({
  kind,
  name,
  providerId,
  onChoose,
}: {
  readonly kind: string;
  readonly name: string;
  readonly providerId: string | undefined;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  const [search, setSearch] = useState("");
  const { data, error, isPending, refetch } = useQuery(referablesOptions(kind, providerId));
  const wanted = search.trim().toLowerCase();
  const shown = data?.filter((each) => `${each.name} ${each.id} ${each.about}`.toLowerCase().includes(wanted));
  return (
    <>
      <Search value={search} onChange={setSearch} />
      {isPending && <Loading what={`the list of ${name}s`} rows={3} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {shown && <Choices all={shown} isSearched={wanted !== ""} name={name} onChoose={onChoose} />}
    </>
  );
}

function Actions({
  providerId,
  onChoose,
}: {
  readonly providerId: string;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  const [search, setSearch] = useState("");
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(
    actionPagesOptions(providerId, useDeferredValue(search.trim())),
  );
  const all = data?.pages.flatMap((page) => page.data);
  return (
    <>
      <Search value={search} onChange={setSearch} />
      {isPending && <Loading what="the actions" rows={3} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {all && (
        <Choices
          all={all.map((each) => ({ id: each.action_id, name: each.name, about: each.description.human }))}
          isSearched={search !== ""}
          name="action"
          onChoose={onChoose}
        />
      )}
      {hasNextPage && (
        <button type="button" className="button button-small" onClick={() => void fetchNextPage()}>
          Show more
        </button>
      )}
    </>
  );
}

function Search({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  return (
    <input
      className="input"
      type="search"
      aria-label="Search"
      placeholder="Search"
      data-first
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

const MOST = 200;

function Choices({
  all,
  isSearched,
  name,
  onChoose,
}: {
  readonly all: readonly Referable[];
  readonly isSearched: boolean;
  readonly name: string;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  if (all.length === 0)
    return (
      <p className="muted">{isSearched ? `No ${name}s match this search.` : `No ${name}s yet. Create one first.`}</p>
    );
  return (
    <ul className="choices">
      {all.slice(0, MOST).map((each) => (
        <li key={each.id}>
          <button type="button" className="choice" onClick={() => onChoose(each.id)}>
            <span className="wrap">{each.name}</span>
            {each.about !== "" && <span className="small muted clamp">{each.about}</span>}
          </button>
        </li>
      ))}
      {all.length > MOST && (
        <li className="small muted">
          Showing {MOST} of {all.length.toLocaleString()}. Search to find others.
        </li>
      )}
    </ul>
  );
}
