import type { Config } from "../../config.ts";
import { openDatabase, type Database } from "../../stores/db.ts";

/** Opens the database for `doctor`, where a lost connection fails only the checks that use it. */
export function openDoctorDatabase({ DATABASE_URL }: Pick<Config, "DATABASE_URL">, url = DATABASE_URL): Database {
  return openDatabase({ url, poolSize: 2, applicationName: "millrace-doctor", onError: () => undefined });
}
