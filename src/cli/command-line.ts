import { Command, CommanderError } from "commander";
import { addAccountCommands } from "./account-commands.ts";
import { addBackupCommands } from "./backup-commands.ts";
import { addQuotaCommands } from "./quota-commands.ts";
import { addDeploymentCommands } from "./deployment-commands.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { CommandFailure, explain } from "./failure.ts";
import { addErasureCommands } from "./erasure-commands.ts";
import { addEvalCommands } from "./eval-commands.ts";
import { addEnvironmentCommands } from "./environment-commands.ts";
import { addFlowCommands } from "./flow-commands.ts";
import { addKnowledgeCommands } from "./knowledge-commands.ts";
import { addOpenApiCommand } from "./openapi-command.ts";
import { addProcessCommands } from "./process-commands.ts";
import { addProviderCommands } from "./provider-commands.ts";
import { addRunCommand } from "./run-command.ts";
import { addRunsCommands } from "./runs-commands.ts";
import { addSecretsCommands } from "./secrets-commands.ts";
import { addSkillCommands } from "./skill-commands.ts";
import { addPageCommands } from "./page-commands.ts";
import { addTriggerCommands } from "./trigger-commands.ts";
import { readable } from "./styled.ts";
import { addWebhookCommands } from "./webhook-commands.ts";
import { VERSION } from "../version.ts";

/** Runs one command line. Returns its exit code: 0, or that of a CommandFailure. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const program = new Command("millrace")
    .description("Millrace turns deployed flows into durable production APIs.")
    // In `run --version 2` the option is the flow's version, so options after a command belong to the command.
    .enablePositionalOptions()
    .version(VERSION, "-V, --version", "print the version of Millrace")
    .exitOverride()
    .showHelpAfterError("(see --help)");
  addProcessCommands(program);
  addAccountCommands(program);
  addQuotaCommands(program);
  addFlowCommands(program);
  addEnvironmentCommands(program);
  addRunCommand(program);
  addRunsCommands(program);
  addKnowledgeCommands(program);
  addEvalCommands(program);
  addSkillCommands(program);
  addTriggerCommands(program);
  addPageCommands(program);
  addWebhookCommands(program);
  addProviderCommands(program);
  addErasureCommands(program);
  addSecretsCommands(program);
  addBackupCommands(program);
  addDeploymentCommands(program);
  addDoctorCommand(program);
  addOpenApiCommand(program);
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return report(error);
  }
}

/** Reports an error. Returns the exit code. */
function report(error: unknown): number {
  // Commander has printed the error; it also "fails" after printing help or the version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CommandFailure) {
    if (error.message !== "") console.error(readable(error.message));
    return error.exitCode;
  }
  console.error(readable(explain(error)));
  return 1;
}
