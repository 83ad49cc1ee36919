import type { Config } from "../../config.ts";
import { openDatabase } from "../../stores/db.ts";
import type { Database } from "../../stores/db.ts";

/** The database as the doctor looks at it. A connection that is lost fails what uses it, and nothing else. */
export function openDoctorDatabase({ DATABASE_URL }: Pick<Config, "DATABASE_URL">, url = DATABASE_URL): Database {
  return openDatabase({ url, poolSize: 2, applicationName: "millrace-doctor", onError: () => undefined });
}
