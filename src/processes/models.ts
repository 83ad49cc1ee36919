import { openModels as openModelsOf } from "../services/models/open-models.ts";
import { createConnectionResolver } from "../services/providers/resolve-connection.ts";
import type { ServiceProcess } from "./open-process.ts";

/** Opens the resolver of organisations' connections, and the models that use them. */
export function openModels({ config, db, secrets, guardedFetch, shutdown }: ServiceProcess) {
  const connections = createConnectionResolver({ db, secrets, guardedFetch });
  const models = openModelsOf({ config, db, guardedFetch, connections });
  shutdown.add("model connections", () => models.close());
  return { connections, models };
}

export type Models = ReturnType<typeof openModels>;
