import type { CreateOperations } from "../deps.ts";
import { createLimitsOperations } from "./limits.ts";
import { createQueueOperations } from "./queues.ts";
import { createCodecOperations } from "./codec.ts";
import { createHealthOperations } from "./health.ts";

/** The operations of the service itself. */
export const system: CreateOperations = [
  createLimitsOperations,
  createQueueOperations,
  createCodecOperations,
  createHealthOperations,
];
