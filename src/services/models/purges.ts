import { purgeTurns } from "../../stores/models/conversations.ts";
import { purgeReservations } from "../../stores/models/spending.ts";
import { purgeOf } from "../house/purge.ts";

export const modelPurges = [
  purgeOf("reservations", purgeReservations),
  purgeOf("conversations", (db, batch, { runDays }) => purgeTurns(db, runDays, batch)),
];
