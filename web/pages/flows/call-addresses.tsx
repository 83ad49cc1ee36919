import { useState, type JSX } from "react";
import { openApiOf } from "../../api/projects.ts";
import { toProblem } from "../../api/problem.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { saveAs } from "../../parts/save-as.ts";
import { Failure } from "../../parts/states.tsx";

/** Addresses of the flow for tools: as an MCP server, and its OpenAPI document. */
export function Addresses({
  projectId,
  name,
  version,
  environment,
  hasVersion,
}: {
  readonly projectId: string;
  readonly name: string;
  readonly version: number | null;
  readonly environment: string | null;
  /** Without a version there is nothing to describe. */
  readonly hasVersion: boolean;
}): JSX.Element {
  const [error, setError] = useState<unknown>(null);
  // Names of environments need no escapes.
  const inEnvironment = environment === null ? "" : `&environment=${environment}`;
  const mcp = `${location.origin}/mcp?flow_id=${projectId}${inEnvironment}`;
  const chosen = version === null ? inEnvironment : `&version=${version}`;
  const format = `/v2/projects/${projectId}/io-schema?format=openapi${chosen}`;
  const download = async (): Promise<void> => {
    setError(null);
    try {
      const text = JSON.stringify(
        await openApiOf(projectId, environment === null ? { version: version ?? -1 } : { environment }),
        null,
        2,
      );
      saveAs(`${fileName(name)}.openapi.json`, new Blob([text], { type: "application/json" }));
    } catch (problem) {
      setError(problem);
    }
  };
  const config = { mcpServers: { millrace: { url: mcp, headers: { Authorization: "Bearer mr_sec_..." } } } };
  return (
    <div className="addresses">
      <section className="panel stack-tight" aria-labelledby="mcp">
        <div className="spread">
          <h2 id="mcp">MCP</h2>
          <CopyButton text={JSON.stringify(config, null, 2)} label="MCP configuration">
            Copy configuration
          </CopyButton>
        </div>
        <p className="muted">
          Assistants and agents call the {environment === null ? "published version" : `version in ${environment}`} as a
          tool at this URL.
        </p>
        <Address text={mcp} label="MCP URL" />
      </section>
      <section className="panel stack-tight" aria-labelledby="openapi">
        <div className="spread">
          <h2 id="openapi">OpenAPI</h2>
          <button type="button" className="button button-small" disabled={!hasVersion} onClick={() => void download()}>
            Download
          </button>
        </div>
        <p className="muted">The document of this flow alone, for client generators and other tools.</p>
        <Address text={location.origin + format} label="URL of the OpenAPI document" />
        {error !== null && <Failure fault={toProblem(error)} />}
      </section>
    </div>
  );
}

function Address({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  return (
    <span className="address">
      <code className="wrap">{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/** A name that every file system takes. */
const fileName = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "")
    .slice(0, 80) || "flow";
