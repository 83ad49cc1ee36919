import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Command } from "@commander-js/extra-typings";
import { CommandFailure } from "./failure.ts";
import { readNumber } from "./values.ts";

const MAINS = {
  api: "serve the HTTP API (settings come from the environment)",
  worker: "execute runs (settings come from the environment)",
  migrate: "create or update the database schema",
} as const;

/** `dev`, and `api`, `worker` and `migrate`, each in a separate process. */
export function addProcessCommands(program: Command): void {
  program
    .command("dev")
    .description("run everything on this machine, with the example flows; state is kept in ./.millrace")
    .action(async () => {
      const { dev } = await import("../dev/dev.ts");
      await dev();
    });
  program
    .command("model-stub")
    .description("scripted stand-in for a model endpoint, for trying out flows without a model")
    .option("--port <port>", "port to listen on, on this machine only", readNumber(0, 65_535), 8099)
    .action(async ({ port }) => {
      const { startModelStub, STUB_MODEL } = await import("../dev/model-stub.ts");
      const { url } = await startModelStub(port);
      console.log(
        `model-stub: answers are scripted, without a model. Start api and worker with\n  MILLRACE_MODEL_URL=${url}/v1 MILLRACE_MODEL=${STUB_MODEL}`,
      );
    });
  for (const [name, description] of Object.entries(MAINS)) {
    program
      .command(name)
      .description(description)
      .action(() => runMain(name));
  }
}

/** Runs an entry point of this package in the foreground and exits with its exit code or signal. */
async function runMain(name: string): Promise<void> {
  const program = fileURLToPath(new URL(`../${name}-main.js`, import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: "inherit" });
  // Ctrl-C goes to the whole process group, so the child gets it directly and decides when both exit.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => void child.kill("SIGTERM"));
  const end = await new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  if (end.signal !== null) throw new CommandFailure(`${name} was terminated by ${end.signal}.`);
  if (end.code !== 0) throw new CommandFailure("");
}
