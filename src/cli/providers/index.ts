import { parseExactJson } from "../../domain/exact-json.ts";
import { readFileSync } from "node:fs";
import { Option, type Command } from "@commander-js/extra-typings";
import type { z } from "zod";
import type { JsonObject } from "../../domain/json.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import type { presentActionRun } from "../../api/providers/action-runs.ts";
import type { presentConnection } from "../../api/providers/connections.ts";
import type { importedSchema } from "../../api/providers/imports.ts";
import type { ImportPreview } from "../../domain/providers/jobs.ts";
import type { presentProvider } from "../../api/providers/providers.ts";
import { CommandFailure } from "../failure.ts";
import { addDelete, addList } from "../listing.ts";
import { apiCommand, openApi, show, type ApiOptions } from "../options.ts";
import { plainText } from "../terminal.ts";
import { readId } from "../values.ts";

interface SourceOptions {
  readonly mcp?: string;
  readonly credential?: string;
  readonly scheme: string;
  readonly connection?: string;
}

type Imported = z.infer<typeof importedSchema>;
type Provider = ReturnType<typeof presentProvider>;
type Connection = ReturnType<typeof presentConnection>;
type ActionRun = Awaited<ReturnType<typeof presentActionRun>>;

/** `providers import|list|delete`, `connections create|check|list|delete`, `actions run`. */
export function addProviderCommands(program: Command): void {
  const providers = program.command("providers").description("import and list providers");
  apiCommand(providers, "import", "import a provider from an OpenAPI document or MCP server, or update it")
    .argument("[file or url]", "OpenAPI document: a JSON file, or a URL of JSON or YAML")
    .option("--mcp <url>", "URL of an MCP server (Streamable HTTP), instead of a document")
    .option("--credential <file>", "JSON file with the credential for the MCP server; - reads standard input")
    .addOption(
      new Option("--scheme <scheme>", "authentication scheme of the credential")
        .choices(CONNECTION_SCHEMES)
        .default("bearer"),
    )
    .option(
      "--connection <id>",
      "connection to use for an update, instead of a credential",
      readId("a connection", "connections list"),
    )
    .option("--id <id>", "provider_id (default: derived from the title or the URL)")
    .option("--name <name>", "name of the provider (default: the title)")
    .option("--dry-run", "show what the import would change, without importing")
    .option("--force", "allow deleting actions that published flows use; their nodes then fail")
    .option("--accept-changes", "MCP: accept new and changed tools after you reviewed them")
    .option("--trust-annotations", "MCP: trust the server's tool annotations")
    .option("--no-trust-annotations", "MCP: stop trusting the server's tool annotations")
    .action(async (source, options) => {
      const { api } = openApi(options);
      const body = {
        ...sourceOf(source, options),
        provider_id: options.id,
        name: options.name,
        dry_run: options.dryRun,
        force: options.force,
        accept_changes: options.acceptChanges,
        trust_annotations: options.trustAnnotations,
      };
      if (options.dryRun === true) {
        const { used_by, ...changes } = await api.post<ImportPreview>("/v2/providers", body);
        return show(options.json, { ...changes, used_by }, () => [...changeLines(changes), ...used_by.map(userLine)]);
      }
      const made = await api.post<Imported>("/v2/providers", body);
      const { operations, ...changes } = made.import;
      show(options.json, made, () => [
        `${made.provider_id}  ${plainText(made.name)}: ${operations} actions`,
        ...(made.connection_id === undefined ? [] : [`connection: ${made.connection_id}`]),
        ...changeLines(changes),
      ]);
    });

  addList<Provider>(providers, "providers", "/v2/providers", {
    PROVIDER: ({ provider_id }) => provider_id,
    NAME: ({ name }) => plainText(name),
    SOURCE: ({ source }) => source,
    VERSION: ({ provider_version }) => provider_version,
  });
  addDelete(providers, "an imported provider", "/v2/providers", (id) => id);

  const connections = program.command("connections").description("manage credentials of other services");
  apiCommand(connections, "create", "store a credential and check it")
    .argument("<name>")
    .requiredOption("--provider <id>", "ID of the provider")
    .addOption(
      new Option("--scheme <scheme>", "authentication scheme, if the provider has several").choices(CONNECTION_SCHEMES),
    )
    .option("--credential <file>", "JSON file with the credential; - reads standard input", "-")
    .action(async (name, options) => {
      const { api } = openApi(options);
      // Read from a file or a pipe, because arguments are stored in the shell's history and visible in the process list.
      const credential = readJson(options.credential);
      const { provider: provider_id, scheme } = options;
      showConnection(options, await api.post<Connection>("/v2/connections", { name, provider_id, scheme, credential }));
    });
  apiCommand(connections, "check", "check a stored credential")
    .argument("<connection>", "connection ID", readId("a connection", "connections list"))
    .action(async (id, options) => {
      const { api } = openApi(options);
      showConnection(options, await api.post<Connection>(`/v2/connections/${id}/check`, {}));
    });
  addList<Connection>(connections, "connections", "/v2/connections", {
    CONNECTION: ({ connection_id }) => connection_id,
    NAME: ({ name }) => plainText(name),
    PROVIDER: ({ provider_id }) => provider_id,
    SCHEME: ({ scheme }) => scheme,
    STATUS: ({ status }) => status,
  });
  addDelete(connections, "a connection", "/v2/connections");

  const actions = program.command("actions").description("run actions of providers");
  apiCommand(actions, "run", "run an action")
    .argument("<provider/action>")
    .option("--inputs <json>", "inputs of the action", "{}")
    .option("--connection <id>", "ID of a connection", readId("a connection", "connections list"))
    .option("--dry-run", "show what would be sent, without sending it")
    .action(async (place, options) => {
      const [provider = "", ...rest] = place.split("/");
      if (rest.length === 0) throw new CommandFailure("Pass provider/action, such as http/get.", 2);
      const { api } = openApi(options);
      const path = `/v2/providers/${encodeURIComponent(provider)}/actions/${encodeURIComponent(rest.join("/"))}/run`;
      const run = await api.post<ActionRun>(path, {
        inputs: parseJson(options.inputs, "--inputs"),
        connection_id: options.connection,
        dry_run: options.dryRun === true,
      });
      const shown = options.dryRun === true ? run.rendered_request : run.outputs;
      show(options.json, run, () => [run.error ? "" : plainText(JSON.stringify(shown, null, 2))]);
      if (run.error) throw new CommandFailure(`${run.error.code}: ${plainText(run.error.message)}`);
      if (run.successful === null) console.error(`Still running; action run ${run.action_run_id}.`);
    });
}

/** The source to import. */
function sourceOf(source: string | undefined, { mcp, credential, scheme, connection }: SourceOptions): JsonObject {
  if ((source === undefined) === (mcp === undefined))
    throw new CommandFailure("Pass either an OpenAPI document or --mcp <url>.", 2);
  if (source !== undefined) return { openapi: /^https?:\/\//i.test(source) ? source : readJson(source) };
  return {
    mcp: { url: mcp ?? "" },
    ...(credential === undefined ? {} : { connection: { scheme, credential: readJson(credential) } }),
    ...(connection === undefined ? {} : { connection_id: connection }),
  };
}

function showConnection(options: ApiOptions, connection: Connection): void {
  const { connection_id, name, status, status_reason } = connection;
  show(options.json, connection, () => [
    `${connection_id}  ${plainText(name)}: ${status}${status_reason === null ? "" : ` (${plainText(status_reason)})`}`,
  ]);
}

function readJson(file: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new CommandFailure(`Cannot read ${file}.`, 2, { cause: error });
  }
  return parseJson(text, file === "-" ? "Standard input" : file);
}

function parseJson(text: string, from: string): JsonObject {
  try {
    return parseExactJson(text) as JsonObject;
  } catch {
    // Without the text itself, which may be a credential.
    throw new CommandFailure(`${from} is not valid JSON.`, 2);
  }
}

function changeLines({ added, changed, removed }: Pick<ImportPreview, "added" | "changed" | "removed">): string[] {
  return Object.entries({ added, changed, removed }).flatMap(([change, ids]) => {
    const named = ids.length > 20 ? `${ids.length} actions` : ids.map(plainText).join(", ");
    return ids.length === 0 ? [] : [`${change}: ${named}`];
  });
}

function userLine({ name, action_ids }: ImportPreview["used_by"][number]): string {
  return `used by ${plainText(name)}: ${action_ids.map(plainText).join(", ")}`;
}
