import type { AddCommands } from "../options.ts";
import { addSecretsCommands } from "./secrets-commands.ts";
import { addBackupCommands } from "./backup-commands.ts";
import { addDeploymentCommands } from "./deployment-commands.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addOpenApiCommand } from "./openapi-command.ts";

/** The commands of the installation as a whole. */
export const system: AddCommands = [
  addSecretsCommands,
  addBackupCommands,
  addDeploymentCommands,
  addDoctorCommand,
  addOpenApiCommand,
];
