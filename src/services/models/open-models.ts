import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import { createOwnFetch } from "../../platform/fetch/own-fetch.ts";
import type { ConnectionResolver } from "../providers/resolve-connection.ts";
import { createModelCaller, type ModelCaller } from "./call-model.ts";
import { readPrices } from "./read-prices.ts";
import { createModelResolver } from "./resolve-model.ts";
import type { Parts } from "../parts.ts";

export interface ModelDeps extends Parts<"config" | "db"> {
  readonly guardedFetch: Pick<GuardedFetch, "open">;
  readonly connections: ConnectionResolver;
}

/** Opens everything that is needed to call models; the caller must call `close`. */
export function openModels({ config, db, guardedFetch, connections }: ModelDeps): ModelCaller & {
  close(): Promise<void>;
} {
  const ownFetch = createOwnFetch(config.MILLRACE_PRIVATE_HOSTS, [config.MILLRACE_MODEL_URL]);
  const models = createModelResolver({ db, connections, guardedFetch, ownFetch, config });
  const prices = readPrices(config.MILLRACE_MODEL_PRICES_FILE);
  const caller = createModelCaller({ db, models, prices, defaultMonth: config.MILLRACE_QUOTA_MODEL_USD_MONTH });
  return { call: (call) => caller.call(call), close: () => ownFetch.close() };
}
