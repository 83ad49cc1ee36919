import { readFile, writeFile } from "node:fs/promises";
import type { Command } from "@commander-js/extra-typings";
import { loadConfig } from "../../config.ts";
import { CommandFailure } from "../failure.ts";

/** `openapi`: the document of the default configuration. It is committed, so that changes of the API are visible in review. */
export function addOpenApiCommand(program: Command): void {
  program
    .command("openapi")
    .description("print the OpenAPI document")
    .option("--write", "write the document to the file")
    .option("--check", "fail if the file is not up to date")
    .option("--file <path>", "path of the file", "openapi.json")
    .action(async (options) => {
      // Imported here, because no other command should load the whole API.
      const { openApiDocument } = await import("../../api/http/openapi/document.ts");
      const { describeOperations } = await import("../../api/operations.ts");
      // Required to build the document, but never connected to.
      const config = loadConfig({ DATABASE_URL: "postgres://unused" });
      const text = `${JSON.stringify(openApiDocument(describeOperations(config)), null, 2)}\n`;
      if (options.write === true) {
        await writeFile(options.file, text);
        console.error(`Wrote ${options.file}.`);
      } else if (options.check === true) {
        const present = await readFile(options.file, "utf8").catch(() => "");
        if (present !== text)
          throw new CommandFailure(
            `${options.file} is out of date: run npm run openapi, then commit the file.${firstDifference(present, text)}`,
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
