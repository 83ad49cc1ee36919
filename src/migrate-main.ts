import { fileURLToPath } from "node:url";
import { loadConfig } from "./config.ts";
import { createLogger } from "./platform/logger.ts";
import { migrate } from "./stores/migrate.ts";

const config = loadConfig();
const logger = createLogger({ level: config.LOG_LEVEL, service: "migrate" });
// Two levels up: this file runs compiled, from dist/src.
const applied = await migrate(config.DATABASE_URL, fileURLToPath(new URL("../../migrations", import.meta.url)));
logger.info({ applied }, applied.length === 0 ? "the database is up to date" : "the database was migrated");
