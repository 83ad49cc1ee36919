import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import type { Schemas } from "../../api/client.ts";
import { environmentsOptions } from "../../api/environments.ts";
import type { PublishedPage } from "../../api/published-pages.ts";
import { Field } from "../../parts/field.tsx";
import { LIMITS, type Limit, type PageForm } from "./page-form.ts";

const LIMIT_NAMES: Readonly<Record<Limit, string>> = {
  page: "Whole page",
  visitor: "One visitor",
  network: "One network",
};

/** Who may use a page, how long, and how much. */
export function AccessFields({
  projectId,
  form,
  page,
  pauses,
  change,
  errorsOf,
}: {
  readonly projectId: string;
  readonly form: PageForm;
  readonly page: PublishedPage | null;
  readonly pauses: Schemas["FlowIo"]["pauses"];
  readonly change: (next: Partial<PageForm>) => void;
  readonly errorsOf: (...names: readonly string[]) => string[];
}): JSX.Element {
  const { data } = useQuery(environmentsOptions(projectId));
  const environments = data?.data ?? [];
  return (
    <>
      <Field label="Environment" hint="The page runs the version of this environment." errors={errorsOf("environment")}>
        {(control) => (
          <select
            className="input"
            value={form.environment}
            onChange={(event) => change({ environment: event.target.value })}
            {...control}
          >
            {environments.map(({ name, version }) => (
              <option key={name} value={name} disabled={version === null && name !== form.environment}>
                {name} {version === null ? "(no version)" : `(version ${version})`}
              </option>
            ))}
            {!environments.some(({ name }) => name === form.environment) && <option>{form.environment}</option>}
          </select>
        )}
      </Field>
      <Field
        label="Websites that may show it (optional)"
        hint="One origin per line, such as https://shop.example. Without any, only its own URL shows the page."
        errors={errorsOf("origins")}
      >
        {(control) => (
          <textarea
            className="input"
            spellCheck={false}
            value={form.origins}
            onChange={(event) => change({ origins: event.target.value })}
            {...control}
          />
        )}
      </Field>
      <Field label="Closes (optional)" errors={errorsOf("expires_at")}>
        {(control) => (
          <input
            type="datetime-local"
            className="input"
            value={form.expires}
            onChange={(event) => change({ expires: event.target.value })}
            {...control}
          />
        )}
      </Field>
      {form.password === null ? (
        <div className="row">
          <span>The page has a password.</span>
          <button type="button" className="button button-small" onClick={() => change({ password: "" })}>
            Change or remove it
          </button>
        </div>
      ) : (
        <Field
          label="Password (optional)"
          hint={
            page?.has_password === true
              ? "Empty removes the password. A change signs every visitor out."
              : "At least 8 characters. Visitors enter it once in each browser."
          }
          errors={errorsOf("password")}
        >
          {(control) => (
            <input
              className="input"
              autoComplete="off"
              maxLength={200}
              value={form.password ?? ""}
              onChange={(event) => change({ password: event.target.value })}
              {...control}
            />
          )}
        </Field>
      )}
      {pauses.length > 0 && (
        <fieldset>
          <legend>Approvals that visitors may answer</legend>
          {pauses.map(({ path }) => (
            <label key={path} className="check">
              <input
                type="checkbox"
                checked={form.pauses.includes(path)}
                onChange={({ target }) =>
                  change({
                    pauses: target.checked ? [...form.pauses, path] : form.pauses.filter((each) => each !== path),
                  })
                }
              />
              <code className="wrap">{path}</code>
            </label>
          ))}
          <p className="small muted">All others wait for people of your organisation.</p>
        </fieldset>
      )}
      <details>
        <summary>Limits</summary>
        <div className="stack-tight">
          <p className="small muted">Runs and uploads per minute. More are refused until the minute is over.</p>
          {LIMITS.map((limit) => (
            <Field key={limit} label={LIMIT_NAMES[limit]} errors={errorsOf("rate_limits", limit)}>
              {(control) => (
                <input
                  className="input input-short"
                  inputMode="numeric"
                  value={form.limits[limit]}
                  onChange={(event) => change({ limits: { ...form.limits, [limit]: event.target.value } })}
                  {...control}
                />
              )}
            </Field>
          ))}
        </div>
      </details>
    </>
  );
}
