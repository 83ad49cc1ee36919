/** The operations of erasures. */
export { erasureOperations as erasures } from "./erasures.ts";
