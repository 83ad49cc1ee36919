import { fileURLToPath } from "node:url";
import { explain } from "./cli/failure.ts";
import { namingPostgres } from "./cli/unreachable.ts";
import { loadMigrationConfig, mistakenSettings, requireConfig } from "./config.ts";
import { createLogger } from "./platform/logging/logger.ts";
import { migrate } from "./stores/migrate.ts";

const config = requireConfig(loadMigrationConfig);
const logger = createLogger({ level: config.LOG_LEVEL, service: "migrate" });
const mistakes = mistakenSettings();
if (mistakes.length > 0) logger.warn(mistakes.join(" "));
// Two levels up, because this file runs compiled, from dist/src.
const directory = fileURLToPath(new URL("../../migrations", import.meta.url));
try {
  const { applied, mended } = await namingPostgres(config.DATABASE_URL, () => migrate(config.DATABASE_URL, directory));
  if (mended.length > 0)
    logger.warn({ mended }, "created missing roles, policies or grants (expected after a restore)");
  logger.info({ applied }, applied.length === 0 ? "the database is up to date" : "the database was migrated");
} catch (error) {
  console.error(`Could not migrate the database.\n  because: ${explain(error)}`);
  process.exitCode = 1;
}
