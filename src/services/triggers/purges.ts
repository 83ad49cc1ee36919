import { purgeFirings } from "../../stores/triggers/firings.ts";
import { purgeOf } from "../house/purge.ts";

export const triggerPurges = [purgeOf("firings", (db, batch, { eventMs }) => purgeFirings(db, eventMs, batch))];
