import { Command } from "@commander-js/extra-typings";
import { accounts } from "./accounts/index.ts";
import { addErasureCommands } from "./erasures/index.ts";
import { addEvalCommands } from "./evals/index.ts";
import { addKnowledgeCommands } from "./knowledge/index.ts";
import { addPageCommands } from "./pages/index.ts";
import { projects } from "./projects/index.ts";
import { addProviderCommands } from "./providers/index.ts";
import { runs } from "./runs/index.ts";
import { addSkillCommands } from "./skills/index.ts";
import { system } from "./system/index.ts";
import { addTriggerCommands } from "./triggers/index.ts";
import { addWebhookCommands } from "./webhooks/index.ts";
import { addProcessCommands } from "./process-commands.ts";
import { report } from "./failure.ts";
import { VERSION } from "../version.ts";

/** The commands of all capabilities, in the order of `--help`. */
const COMMANDS = [
  addProcessCommands,
  ...accounts,
  ...projects,
  ...runs,
  addKnowledgeCommands,
  addEvalCommands,
  addSkillCommands,
  addTriggerCommands,
  addPageCommands,
  addWebhookCommands,
  addProviderCommands,
  addErasureCommands,
  ...system,
];

/** Runs one command line. Returns its exit code: 0, or that of a CommandFailure. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const program = new Command("millrace")
    .description("Millrace turns deployed flows into durable production APIs.")
    // In `run --version 2` the option is the flow's version, so options after a command belong to the command.
    .enablePositionalOptions()
    .version(VERSION, "-V, --version", "print the version of Millrace")
    .exitOverride()
    .showHelpAfterError("(see --help)");
  for (const add of COMMANDS) add(program);
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return report(error);
  }
}
