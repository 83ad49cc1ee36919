import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { addAccountCommands } from "./cli/account-commands.ts";
import { addDoctorCommand } from "./cli/doctor-command.ts";
import { CommandFailure, explain } from "./cli/failure.ts";
import { addEvalCommands } from "./cli/eval-commands.ts";
import { addFlowCommands } from "./cli/flow-commands.ts";
import { addKnowledgeCommands } from "./cli/knowledge-commands.ts";
import { addOpenApiCommand } from "./cli/openapi-command.ts";
import { addProcessCommands } from "./cli/process-commands.ts";
import { addProviderCommands } from "./cli/provider-commands.ts";
import { addRunCommand } from "./cli/run-command.ts";
import { addRunsCommands } from "./cli/runs-commands.ts";
import { addSecretsCommands } from "./cli/secrets-commands.ts";
import { addSkillCommands } from "./cli/skill-commands.ts";
import { addTriggerCommands } from "./cli/trigger-commands.ts";
import { addWebhookCommands } from "./cli/webhook-commands.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const program = new Command("millrace")
  .description("Millrace turns deployed flows into durable production APIs.")
  .version(version, "-V")
  .exitOverride()
  .showHelpAfterError("(--help tells more)");
addProcessCommands(program);
addAccountCommands(program);
addFlowCommands(program);
addRunCommand(program);
addRunsCommands(program);
addKnowledgeCommands(program);
addEvalCommands(program);
addSkillCommands(program);
addTriggerCommands(program);
addWebhookCommands(program);
addProviderCommands(program);
addSecretsCommands(program);
addDoctorCommand(program);
addOpenApiCommand(program);

// `millrace ... | head` is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Tells what went wrong. Answers the exit code: 1, it did not work; 2, it was asked wrongly. */
function report(error: unknown): number {
  // Commander has told already; it also "fails" after printing help or the version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CommandFailure) {
    if (error.message !== "") console.error(error.message);
    return error.exitCode;
  }
  console.error(explain(error));
  return 1;
}
