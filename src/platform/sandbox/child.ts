// Entry of the sandbox's child process: QuickJS in WebAssembly, and nothing else that a script could reach.
import { exitWithoutParent, serveRequests } from "../children/serve.ts";
import { createEngine, runScript } from "./engine.ts";
import type { ScriptRequest } from "./protocol.ts";

/** A new module for each script, prepared in advance, so that no memory is shared with the previous script. */
let next = createEngine();
await next;

serveRequests({
  async handle({ header, body }) {
    const { source_bytes, timeout_ms } = header as ScriptRequest;
    const source = body.toString("utf8", 0, source_bytes);
    const args = body.toString("utf8", source_bytes);
    const { reply, value } = runScript(await next, {
      source,
      args,
      timeoutMs: timeout_ms,
      onInterval: exitWithoutParent,
    });
    return { header: reply, body: value };
  },
  afterReply() {
    next = createEngine();
  },
  wornAtMib: 200,
});
