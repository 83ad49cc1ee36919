import { join } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { loadConfig, mistakenSettings, type Config } from "../../config.ts";
import { PACKAGE_ROOT } from "../../dev/package-root.ts";
import type { Finding } from "../../services/system/checks/finding.ts";
import { VERSION } from "../../version.ts";
import { isUuid } from "../../domain/uuid.ts";
import { readDevState } from "../dev-state.ts";
import { CommandFailure } from "../failure.ts";
import { show, table } from "../options.ts";
import { namingPostgresOfPool } from "../unreachable.ts";

const MARKS = { ok: "ok", warning: "warning", problem: "PROBLEM" } as const;

/** `doctor`: checks everything that an installation needs. */
export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("check Postgres, Temporal, workers, blobs, keys and clocks (settings come from the environment)")
    .option("--explain <run_id>", "explain why a run is not progressing and how to fix it")
    .option("--json", "print JSON")
    .action(async ({ json, explain }) => {
      if (explain !== undefined) return showExplanation(explain, json);
      // Imported only here, because its dependencies take as long to load as all other commands together.
      const { examine } = await import("../../services/system/doctor.ts");
      const { config, from, problems } = configuration();
      const findings = [...problems, ...(config ? await examine(config, join(PACKAGE_ROOT, "migrations")) : [])];
      const bad = findings.filter(({ state }) => state === "problem").length;
      const warnings = findings.filter(({ state }) => state === "warning").length;
      show(json, { version: VERSION, healthy: bad === 0, findings }, () => [
        `Millrace ${VERSION}, as configured by ${from}`,
        ...table(
          findings.flatMap(({ part, state, text, advice }) => [
            [MARKS[state], part, text],
            ...(advice === undefined ? [] : [["", "", `→ ${advice}`]]),
          ]),
        ),
        summary(bad, warnings),
      ]);
      if (bad > 0) throw new CommandFailure("");
    });
}

function summary(bad: number, warnings: number): string {
  if (bad > 0) return `${bad} ${bad === 1 ? "problem" : "problems"} found.`;
  return warnings === 0
    ? "No problems found."
    : `No problems found, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`;
}

async function showExplanation(runId: string, json: boolean | undefined): Promise<void> {
  if (!isUuid(runId)) throw new CommandFailure("--explain needs the ID of a run.", 2);
  const { config, problems } = configuration();
  if (!config) throw new CommandFailure(problems.map(({ text }) => text).join(" "));
  const { explainRun } = await import("../../services/system/explain-run.ts");
  const explanation = await namingPostgresOfPool(config.DATABASE_URL, () => explainRun(config, runId));
  if (!explanation) throw new CommandFailure(`Run ${runId} not found.`);
  const { state, reasons } = explanation;
  show(json, explanation, () => [
    `Run ${runId} is ${state}.`,
    ...reasons.flatMap(({ text, advice }) => [`- ${text}`, ...(advice === undefined ? [] : [`  → ${advice}`])]),
  ]);
}

/** The environment's configuration; in the folder of `npm start`, settings that the environment lacks are those of its servers. */
function configuration(): { config?: Config; from: string; problems: Finding[] } {
  const dev = readDevState();
  const known = dev && { DATABASE_URL: dev.database_url, TEMPORAL_ADDRESS: dev.temporal_address };
  const own = process.env["DATABASE_URL"] ?? "";
  const from = own === "" && dev ? "npm start" : "the environment";
  const mistakes = mistakenSettings().map((text): Finding => {
    const advice = "Correct or remove it; docs/configuration.md lists all variables.";
    return { part: "Configuration", state: "warning", text, advice };
  });
  try {
    return { config: loadConfig(own === "" ? { ...process.env, ...known } : process.env), from, problems: mistakes };
  } catch (error) {
    const advice = "Correct the environment; docs/configuration.md lists all variables.";
    const lines = (error as Error).message.split("\n").map((line) => line.trim());
    const text = lines.filter((line) => line !== "").join(" ");
    return { from, problems: [{ part: "Configuration", state: "problem", text, advice }, ...mistakes] };
  }
}
