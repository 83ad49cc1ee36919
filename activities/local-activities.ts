import type { LocalDocumentActivities } from "./documents/types.ts";
import type { LocalRunActivities } from "./runs/types.ts";
import type { LocalTriggerActivities } from "./triggers/types.ts";

/** Short activities that run in the same process as the workflow. */
export type LocalActivities = LocalRunActivities & LocalDocumentActivities & LocalTriggerActivities;
