import { ValidationProblem } from "../../domain/errors.ts";
import type { ImportedProvider } from "../../domain/providers/imported.ts";
import { visible } from "../../domain/providers/invisible.ts";
import { importTools } from "../../domain/providers/mcp/tools.ts";
import { parseDocumentText } from "../../domain/providers/openapi/document.ts";
import { importOpenApi } from "../../domain/providers/openapi/import.ts";
import { storableText } from "../../domain/storable.ts";
import type { MadeProvider, ProviderSource } from "./protocol.ts";

/** Makes a provider from a document or from the tools of a server. */
export function makeProvider(source: ProviderSource): MadeProvider {
  try {
    const { provider, actions } = visible(made(source));
    return { ok: true, provider, operations: actions.length, actions: storableText(JSON.stringify(actions)) };
  } catch (error) {
    if (!(error instanceof ValidationProblem)) throw error;
    return { ok: false, issues: error.issues };
  }
}

function made(source: ProviderSource): ImportedProvider {
  if ("mcp" in source) return importTools(source.mcp, source);
  const { openapi, address } = source;
  return importOpenApi(typeof openapi === "string" ? parseDocumentText(openapi) : openapi, address);
}
