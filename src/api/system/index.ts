import { limitsOperations } from "./limits.ts";
import { queueOperations } from "./queues.ts";
import { codecOperations } from "./codec.ts";
import { healthOperations } from "./health.ts";

/** The operations of the service itself. */
export const system = [...limitsOperations, ...queueOperations, ...codecOperations, ...healthOperations];
