import { erasureOperations } from "./erasures.ts";

/** The operations of erasures. */
export const erasures = [...erasureOperations];
