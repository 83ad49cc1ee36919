import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { Json } from "../../src/domain/json.ts";
import { decodeText, withoutControls } from "../../src/platform/parsing/decode-text.ts";
import { DOCX, MAIL, PPTX, XLSX, detectMime } from "../../src/platform/parsing/mime.ts";
import { redactUrl } from "../../src/platform/logging/redaction.ts";
import type { Parts } from "../../src/services/parts.ts";
import { FOR_A_VALUE } from "../fetch-limits.ts";
import type { DocumentToParse } from "../parse-document.ts";
import type { NodeExecutor } from "./executor.ts";
import { contentType, fetchOk, storable } from "./http-response.ts";

/** A `url` node with its URL resolved. */
export interface ResolvedUrlConfig {
  readonly url: string;
}

export interface UrlDeps extends Parts<"guardedFetch" | "version"> {
  /** Reads HTML, PDF and Office files. Throws errors that fail the node. */
  readonly parse: (document: DocumentToParse) => Promise<{ readonly text: string; readonly title?: string | null }>;
}

const ACCEPT = "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, application/json;q=0.9, */*;q=0.5";
const IN_CHILD: ReadonlySet<string> = new Set(["text/html", "application/pdf", DOCX, XLSX, PPTX, MAIL]);
const AS_IS: ReadonlySet<string> = new Set(["text/plain", "text/markdown", "text/csv", "application/json"]);

/** Executes `url` nodes: loads a page or file and returns its text. */
export function createUrlExecutor(deps: UrlDeps): NodeExecutor<ResolvedUrlConfig> {
  return async ({ config, org_id, signal }) => {
    const headers = { accept: ACCEPT, "user-agent": `Millrace/${deps.version}` };
    const request = { url: config.url.trim(), headers, limits: FOR_A_VALUE, signal };
    const response = await fetchOk(deps.guardedFetch, request);
    const declared = response.headers["content-type"] ?? null;
    const charset = contentType(response.headers["content-type"]).charset ?? null;
    // The file name in a URL says little (page.php, /download), so the content and the declared type decide.
    const mime = response.body.length === 0 ? "text/plain" : detectMime(null, declared, response.body);
    const { text, title = null } = await read(deps, response.body, mime, { org_id, charset, signal });
    const output: Json = {
      url: response.url,
      title: title === null ? null : storable(title),
      text: storable(text),
      content_type: mime,
    };
    return { output, inputs: { url: redactUrl(config.url) } };
  };
}

async function read(
  deps: UrlDeps,
  bytes: Buffer,
  mime: string,
  {
    org_id,
    charset,
    signal,
  }: { readonly org_id: string; readonly charset: string | null; readonly signal: AbortSignal },
): Promise<{ text: string; title?: string | null }> {
  if (IN_CHILD.has(mime)) {
    const declared = charset ? `${mime}; charset=${charset}` : mime;
    return await deps.parse({ org_id, content: { bytes }, filename: null, declared, signal });
  }
  if (!AS_IS.has(mime)) {
    throw new NodeFailure("unsupported_content_type", `Content of type ${mime} contains no readable text.`);
  }
  try {
    return { text: withoutControls(decodeText(bytes, charset)) };
  } catch (error) {
    throw new NodeFailure("unsupported_content_type", "The loaded content is not text, although its type says so.", {
      cause: error,
    });
  }
}
