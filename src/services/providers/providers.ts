import { findBuiltin } from "../../domain/providers/builtin/index.ts";
import type { Provider } from "../../domain/providers/provider.ts";

/** A provider that the organisation can use, by its id. */
export function findProvider(providerId: string): Provider | null {
  return findBuiltin(providerId) ?? null;
}
