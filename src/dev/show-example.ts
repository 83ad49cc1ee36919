import { relative } from "node:path";
import { apiClient } from "../cli/api-client.ts";
import type { DevState } from "../cli/dev-state.ts";
import { quoted } from "../cli/shell.ts";
import type { Example } from "./demo.ts";

/** Most lines shown of each output. */
const LINES_SHOWN = 24;

interface RunAnswer {
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly run_id: string;
  readonly state: string;
}

/** Runs an example through the inference API and prints what it returned and the commands that repeat it. */
export async function showExample(example: Example, state: DevState, say: (line: string) => void): Promise<void> {
  const path = `/inference/v0/run/${state.org_id}/${example.project_id}`;
  // With the public key, which callers of a flow use.
  const api = apiClient({ url: state.url, key: state.public_key });
  const since = Date.now();
  const answer = await api.post<RunAnswer>(path, example.inputs);
  say(`\nRun ${answer.run_id} of the flow ${example.flow.name}: ${answer.state} in ${Date.now() - since} ms`);
  for (const [node, value] of Object.entries(answer.outputs)) {
    const text = typeof value === "string" ? value.trim() : JSON.stringify(value, null, 2);
    say(`  ${node}:`);
    const lines = text.split("\n");
    for (const line of lines.slice(0, LINES_SHOWN)) say(`    ${line}`);
    if (lines.length > LINES_SHOWN) say(`    ... (${lines.length - LINES_SHOWN} more lines)`);
  }
  say("\nDo the same from another terminal:");
  const authorization = `-H "Authorization: Bearer ${state.public_key}"`;
  if (example.document !== undefined) {
    const { node_id, user_id, file } = example.document;
    const query = new URLSearchParams({ org: state.org_id, user_id, flow_id: example.project_id, node_id });
    say(`  curl -s ${authorization} -F ${quoted(`file=@${relative(process.cwd(), file)}`)} \\`);
    say(`    "${state.url}/upload_to_storage_user?${query.toString()}"`);
  }
  say(`  curl -s ${authorization} -H "Content-Type: application/json" \\`);
  say(`    -d ${quoted(JSON.stringify(example.inputs))} \\`);
  say(`    ${state.url}${path}`);
}
