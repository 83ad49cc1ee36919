import type { JSX } from "react";
import type { ApiKey } from "../../api/accounts.ts";
import type { ApiProblem } from "../../api/problem.ts";
import { Field, errorsAt } from "../../parts/field.tsx";
import type { FormTexts } from "../../parts/form-texts.ts";

type Scope = NonNullable<ApiKey["scopes"]>[number];
type Lists = "scopes" | "projects" | "allowed_origins" | "allowed_addresses";

const LISTS: ReadonlyArray<{ readonly name: Lists; readonly label: string; readonly hint: string }> = [
  { name: "scopes", label: "Scopes (optional)", hint: "Allowed operations, e.g. runs:read knowledge:*" },
  { name: "projects", label: "Projects (optional)", hint: "Project IDs. The key works only for these projects." },
  { name: "allowed_origins", label: "Origins (optional)", hint: "Allowed web origins, e.g. https://shop.example" },
  {
    name: "allowed_addresses",
    label: "IP addresses (optional)",
    hint: "Allowed IP addresses or networks, e.g. 192.0.2.0/24",
  },
];

/** Fields that restrict a new key. */
export function KeyLimitFields({ problem }: { readonly problem: ApiProblem | null }): JSX.Element {
  return (
    <details className="stack">
      <summary>Restrictions</summary>
      <label className="row">
        <input type="checkbox" name="read_only" value="on" /> Read-only
      </label>
      {LISTS.map(({ name, label, hint }) => (
        <Field key={name} label={label} hint={hint} errors={errorsAt(problem, name)}>
          {(control) => <input className="input" name={name} {...control} />}
        </Field>
      ))}
    </details>
  );
}

/** The limits that a form sets; list values are separated by spaces or commas. */
export function limitsIn(given: FormTexts) {
  const list = (name: Lists): string[] =>
    given(name)
      .split(/[\s,]+/)
      .filter((each) => each !== "");
  const [scopes, projects, allowed_origins, allowed_addresses] = [
    // The API rejects unknown scopes.
    list("scopes") as Scope[],
    list("projects"),
    list("allowed_origins"),
    list("allowed_addresses"),
  ];
  return {
    ...(given("read_only") === "on" && { read_only: true }),
    ...(scopes.length > 0 && { scopes }),
    ...(projects.length > 0 && { projects }),
    ...(allowed_origins.length > 0 && { allowed_origins }),
    ...(allowed_addresses.length > 0 && { allowed_addresses }),
  };
}

/** One line that describes the limits of a key. */
export function describeLimits(key: ApiKey): string {
  const counted = [
    [key.projects, "project"],
    [key.allowed_origins, "origin"],
    [key.allowed_addresses, "address"],
  ] as const;
  return [
    ...(key.read_only ? ["read-only"] : []),
    ...(key.scopes ?? []),
    ...counted.flatMap(([list, what]) => (list === null ? [] : [`${what}: ${list.join(" ")}`])),
  ].join(", ");
}
