import { readFile, writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { loadConfig } from "../config.ts";
import { CommandFailure } from "./failure.ts";

interface Options {
  readonly check?: boolean;
  readonly write?: boolean;
  readonly file: string;
}

/** `openapi`: the document as the default configuration serves it. Committed, so that a change of the interface is seen in review. */
export function addOpenApiCommand(program: Command): void {
  program
    .command("openapi")
    .description("print the OpenAPI document")
    .option("--write", "write it to the file")
    .option("--check", "fail when the file is not the present document")
    .option("--file <path>", "which file", "openapi.json")
    .action(async (options: Options) => {
      // The whole API, which no other command should have to load.
      const { openApiDocument } = await import("../api/http/openapi/document.ts");
      const { describeOperations } = await import("../api/operations.ts");
      // Needed for the document, never connected to.
      const config = loadConfig({ DATABASE_URL: "postgres://unused" });
      const text = `${JSON.stringify(openApiDocument(describeOperations(config)), null, 2)}\n`;
      if (options.write === true) {
        await writeFile(options.file, text);
        console.error(`${options.file} is written.`);
      } else if (options.check === true) {
        const present = await readFile(options.file, "utf8").catch(() => "");
        if (present !== text)
          throw new CommandFailure(
            `${options.file} is out of date: npm run openapi, then commit it.${firstDifference(present, text)}`,
          );
        console.error(`${options.file} is up to date.`);
      } else process.stdout.write(text);
    });
}

function firstDifference(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const at = now.findIndex((line, index) => line !== old[index]);
  return at < 0 ? "" : `\nFirst difference, line ${at + 1}:\n  - ${old[at] ?? "(end)"}\n  + ${now[at] ?? "(end)"}`;
}
