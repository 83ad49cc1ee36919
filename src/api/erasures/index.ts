import type { CreateOperations } from "../deps.ts";
import { createErasureOperations } from "./erasures.ts";

/** The operations of erasures. */
export const erasures: CreateOperations = [createErasureOperations];
