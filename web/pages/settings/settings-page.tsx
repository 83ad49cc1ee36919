import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay, useMe } from "../../api/accounts.ts";
import { isStale, toProblem } from "../../api/problem.ts";
import { connectionsOptions, limitsOptions, settingsOptions, useSettingsChange } from "../../api/system.ts";
import { links } from "../../links.ts";
import { Field } from "../../parts/field.tsx";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { PageHead } from "../../parts/page.tsx";
import { ChangedMeanwhile, Failure, Loading, Notice } from "../../parts/states.tsx";
import { duration } from "../../parts/time.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";

const MODEL_PROVIDERS = ["openai_compatible", "anthropic"];

/** What holds for the whole organisation. */
export function SettingsPage(): JSX.Element {
  const { id, organisation, user } = useMe();
  const isViewer = useMay("viewer");
  return (
    <>
      <PageHead title="Settings" />
      <dl className="panel facts">
        <Fact term="Organisation">{organisation.name}</Fact>
        <Fact term="Id">
          <Id id={organisation.org_id} label="organisation id" />
        </Fact>
        {user && (
          <Fact term="Your user id">
            <Id id={id} label="your user id" />
          </Fact>
        )}
      </dl>
      {isViewer && <Models />}
      <Limits />
    </>
  );
}

function Models(): JSX.Element {
  const isAdmin = useMay("admin");
  const { data: settings, error, isPending, refetch } = useQuery(settingsOptions);
  const { data: connections } = useQuery(connectionsOptions);
  const change = useSettingsChange();
  if (isPending) return <Loading what="settings" rows={3} />;
  if (settings === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  const usable = connections?.data.filter(({ provider_id }) => MODEL_PROVIDERS.includes(provider_id)) ?? [];
  return (
    <form
      className="panel stack"
      aria-labelledby="models"
      onSubmit={onTexts((given) => {
        const text = (name: string): string | null => given(name).trim() || null;
        const { etag } = settings;
        change.mutate({ etag, default_connection_id: text("connection"), default_model: text("model") });
      })}
    >
      <h2 id="models">Models</h2>
      <p className="muted">
        What model nodes use that name nothing themselves. See <Link to={links.connections()}>all connections</Link> and{" "}
        <Link to={links.usage()}>what models have cost</Link>.
      </p>
      <Field label="Connection">
        {(control) => (
          <select
            key={`${settings.default_connection_id} ${usable.length}`}
            className="input"
            name="connection"
            disabled={!isAdmin}
            defaultValue={settings.default_connection_id ?? ""}
            {...control}
          >
            <option value="">The installation&apos;s own endpoint, if it has one</option>
            {usable.map(({ connection_id, name }) => (
              <option key={connection_id} value={connection_id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Model" hint="A name that the endpoint knows.">
        {(control) => (
          <input
            key={settings.default_model}
            className="input"
            name="model"
            disabled={!isAdmin}
            maxLength={256}
            defaultValue={settings.default_model ?? ""}
            {...control}
          />
        )}
      </Field>
      {isStale(change.error) ? <ChangedMeanwhile /> : change.error && <Failure fault={toProblem(change.error)} />}
      {change.isSuccess && <Notice tone="good">Saved.</Notice>}
      {isAdmin ? <Submit isPending={change.isPending}>Save</Submit> : <p className="muted">Admins change these.</p>}
    </form>
  );
}

function Limits(): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(limitsOptions);
  return (
    <section className="panel stack-tight" aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <p className="muted">
        Set by who operates the installation. See also <Link to={links.retention()}>how long what is kept</Link>.
      </p>
      {isPending && <Loading what="limits" rows={3} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && (
        <dl className="facts">
          {Object.entries(data).map(([name, value]) => (
            <Fact key={name} term={wordsOf(name)}>
              {limitOf(name, value)}
            </Fact>
          ))}
        </dl>
      )}
    </section>
  );
}

/** Names of the API that do not say by themselves that less is not allowed, or that nothing is limited. */
const NAMES: Readonly<Record<string, string>> = {
  schedule_seconds: "Shortest time between runs of a schedule",
  monitor_window_seconds: "Shortest window of an alert",
  run_timeout_seconds: "Time limit of a run that names none",
  max_run_timeout_seconds: "Longest time limit of a run",
  event_retention_seconds: "Events are kept for",
  monitor_retention_days: "Results of monitors are kept for",
  idempotency_seconds: "Idempotency keys are kept for",
  wide_json_values: "Values in a body with inputs",
  json_depth: "Levels of JSON",
  skill_path_chars: "Characters of a path in a skill",
  skill_front_matter_chars: "Characters of a skill's front matter",
};

function wordsOf(name: string): string {
  const known = NAMES[name];
  if (known !== undefined) return known;
  const words = name
    .replace(/_(bytes|seconds)$/, "")
    .replaceAll("_", " ")
    .replace("json", "JSON");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** With the unit that its name has. */
function limitOf(name: string, value: number | null): string {
  if (value === null) return "unlimited";
  if (name.endsWith("_seconds")) return duration(value * 1000);
  if (name.endsWith("_days")) return duration(value * 86_400_000);
  if (name.endsWith("_bytes"))
    return `${(value / 2 ** 20).toLocaleString(undefined, { maximumFractionDigits: 1 })} MiB`;
  return value.toLocaleString();
}
