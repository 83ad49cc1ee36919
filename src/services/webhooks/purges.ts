import { purgeDeliveries } from "../../stores/webhooks/deliveries.ts";
import { purgeEvents } from "../../stores/webhooks/outbox.ts";
import { purgeOf } from "../house/purge.ts";

export const webhookPurges = [
  purgeOf("deliveries", (db, batch, { eventMs }) => purgeDeliveries(db, eventMs, batch)),
  purgeOf("events", (db, batch, { eventMs }) => purgeEvents(db, eventMs, batch)),
];
