import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay, useMe } from "../../api/accounts.ts";
import type { Schemas, Tagged } from "../../api/client.ts";
import { isStale } from "../../api/problem.ts";
import { connectionsOptions, limitsOptions, settingsOptions, useSettingsChange } from "../../api/system.ts";
import { links } from "../../links.ts";
import { Field } from "../../parts/field.tsx";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { ChangedMeanwhile, Failure, Notice } from "../../parts/states.tsx";
import { duration } from "../../parts/time.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";

const MODEL_PROVIDERS = ["openai_compatible", "anthropic"];

/** Settings of the whole organisation. */
export function SettingsPage(): JSX.Element {
  const { id, organisation, user } = useMe();
  const isViewer = useMay("viewer");
  const isAdmin = useMay("admin");
  return (
    <>
      <PageHead about="Organisation defaults and the limits of this installation." />
      <dl className="panel facts">
        <Fact term="Organisation">{organisation.name}</Fact>
        <Fact term="Organisation ID">
          <Id id={organisation.org_id} label="organisation ID" />
        </Fact>
        {user && (
          <Fact term="Your user ID">
            <Id id={id} label="your user ID" />
          </Fact>
        )}
      </dl>
      <section className="panel stack-tight" aria-labelledby="keys">
        <h2 id="keys">API keys</h2>
        <p className="muted">Programs authenticate with an API key.</p>
        <p>
          {isAdmin ? (
            <Link to={links.access("keys")}>Manage API keys</Link>
          ) : (
            "Only admins can create and revoke API keys."
          )}
        </p>
      </section>
      {isViewer && <Models />}
      <Limits />
    </>
  );
}

function Models(): JSX.Element {
  const settings = useQuery(settingsOptions);
  return (
    <Fetched query={settings} what="settings" rows={3}>
      {(known) => <ModelForm settings={known} />}
    </Fetched>
  );
}

function ModelForm({ settings }: { readonly settings: Tagged<Schemas["Settings"]> }): JSX.Element {
  const isAdmin = useMay("admin");
  const { data: connections } = useQuery(connectionsOptions);
  const change = useSettingsChange();
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
        Used by model nodes that do not set their own connection or model. See{" "}
        <Link to={links.connections()}>all connections</Link> and <Link to={links.usage()}>model usage</Link>.
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
            <option value="">Installation default, if configured</option>
            {usable.map(({ connection_id, name }) => (
              <option key={connection_id} value={connection_id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Model" hint="Model name at the endpoint, e.g. gpt-4o-mini.">
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
      {isStale(change.error) ? <ChangedMeanwhile /> : change.error && <Failure fault={change.error} />}
      {change.isSuccess && <Notice tone="good">Saved.</Notice>}
      {isAdmin ? (
        <Submit isPending={change.isPending}>Save</Submit>
      ) : (
        <p className="muted">Only admins can change these settings.</p>
      )}
    </form>
  );
}

function Limits(): JSX.Element {
  const limits = useQuery(limitsOptions);
  return (
    <section className="panel stack-tight" aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <p className="muted">
        Set by the operator. See also <Link to={links.retention()}>Retention</Link>.
      </p>
      <Fetched query={limits} what="limits" rows={3}>
        {(data) => (
          <dl className="facts">
            {Object.entries(data).map(([name, value]) => (
              <Fact key={name} term={wordsOf(name)}>
                {limitOf(name, value)}
              </Fact>
            ))}
          </dl>
        )}
      </Fetched>
    </section>
  );
}

/** Labels for limits whose API name does not show what is limited, or that it is a minimum. */
const NAMES: Readonly<Record<string, string>> = {
  json_body_bytes: "JSON request body",
  run_body_bytes: "Request body with run inputs",
  json_depth: "JSON nesting depth",
  json_values: "JSON values in a request",
  wide_json_values: "JSON values in a request with run inputs, a flow or an import",
  upload_bytes: "Uploaded document",
  input_bytes: "One input of a run",
  sync_wait_seconds: "Longest wait for a synchronous run",
  run_timeout_seconds: "Default run timeout",
  max_run_timeout_seconds: "Longest run timeout",
  requests_per_minute: "Requests per minute and credential",
  concurrent_runs: "Unfinished runs at one time, paused ones included",
  webhook_subscriptions: "Webhooks",
  schedule_seconds: "Shortest time between runs of a schedule",
  event_retention_seconds: "Events are kept for",
  monitor_window_seconds: "Shortest time window of a monitor's alert",
  monitored_runs_per_hour: "Monitored runs per hour and monitor",
  monitor_retention_days: "Monitor results are kept for",
  skill_files: "Files per skill",
  skill_bytes: "Size of a skill",
  skill_path_chars: "Characters in a path within a skill",
  skill_front_matter_chars: "Characters in a skill's front matter",
  page_size: "Items per page",
  idempotency_seconds: "Idempotency records are kept for",
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

/** Formats a limit with the unit that its name implies. */
function limitOf(name: string, value: number | null): string {
  if (value === null) return "unlimited";
  if (name.endsWith("_seconds")) return duration(value * 1000);
  if (name.endsWith("_days")) return duration(value * 86_400_000);
  if (name.endsWith("_bytes"))
    return `${(value / 2 ** 20).toLocaleString(undefined, { maximumFractionDigits: 1 })} MiB`;
  return value.toLocaleString();
}
