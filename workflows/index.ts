/** The workflows a worker registers: exactly what is exported here, by these names. Renaming one breaks runs under way. */
export { deliverWebhook } from "./deliver-webhook.ts";
export { ingestDocument } from "./ingest-document.ts";
export { runFlow } from "./run-flow.ts";
export { runSlice } from "./run-slice.ts";
