import { randomBytes } from "node:crypto";
import type { Json } from "../../src/domain/json.ts";
import { ActionRefused, type RequestBody } from "../../src/domain/providers/action.ts";
import type { Authorization } from "../../src/domain/providers/connection.ts";
import type { GuardedResponse } from "../../src/platform/fetch/guarded-fetch.ts";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";
import { MASK } from "../../src/platform/logging/redaction.ts";
import { maskJson } from "../../src/platform/logging/mask-json.ts";
import type { Parts } from "../../src/services/parts.ts";
import { FOR_A_VALUE } from "../fetch-limits.ts";
import { requestPreview, withQuery } from "../nodes/http-request.ts";
import { readableBody, readableHeaders, statusFailure } from "../nodes/http-response.ts";
import type { ActionExecutor } from "./action-call.ts";

const NOBODY: Authorization = { headers: {}, query: {} };

/** Carries out actions that are one HTTP request. */
export function createHttpAction(deps: Parts<"guardedFetch" | "version">): ActionExecutor {
  return async ({ action, inputs, connection, dry_run, idempotency_key, signal, begin }) => {
    if (action.request === undefined) throw new Error(`${action.action_id} is not one HTTP request`);
    const request = action.request(inputs, connection?.credential ?? {});
    requirePlainPath(request.url);
    const body = request.body && encoded(request.body);
    const own: Record<string, string> = {
      accept: "application/json, */*;q=0.5",
      "user-agent": `Millrace/${deps.version}`,
      ...(action.annotations.read_only ? {} : { "idempotency-key": idempotency_key }),
      ...(body ? { "content-type": body.type } : {}),
      ...request.headers,
    };
    const addressed = ({ query }: Authorization): string =>
      withQuery(
        request.url,
        [
          new URLSearchParams([...(request.query ?? []), ...Object.entries(query)].map(pair)).toString(),
          ...(request.encoded_query ?? []),
        ]
          .filter((part) => part !== "")
          .join("&"),
      );
    const rendered = (): Json => {
      const { headers, query } = connection?.authorization() ?? NOBODY;
      const hidden = Object.fromEntries(Object.keys(headers).map((name) => [name, MASK]));
      const url = addressed({ headers, query: Object.fromEntries(Object.keys(query).map((name) => [name, "masked"])) });
      const plain = { method: request.method, url, headers: { ...own, ...hidden }, body: body?.preview ?? null };
      const masked = maskJson(plain, createMaskValues(connection?.secrets ?? [])) as unknown as typeof plain;
      return requestPreview({ ...masked, body: body && masked.body });
    };
    if (dry_run) return { outputs: null, rendered_request: rendered() };

    const send = (authorization: Authorization): Promise<GuardedResponse> =>
      deps.guardedFetch.fetch({
        method: request.method,
        url: addressed(authorization),
        headers: { ...own, ...authorization.headers, ...cookies(own, authorization) },
        secretHeaders: Object.keys(authorization.headers),
        ...(body ? { body: body.bytes } : {}),
        limits: FOR_A_VALUE,
        signal,
      });
    if (connection) await connection.authorize();
    await begin();
    const response = connection ? await connection.send(send) : await send(NOBODY);
    if (response.status < 200 || response.status > 299) throw statusFailure(response, connection?.secrets);
    const answer = { status: response.status, headers: readableHeaders(response), body: readableBody(response) };
    return { outputs: action.outputs ? action.outputs(answer) : answer.body, rendered_request: rendered() };
  };
}

/** Joins the cookies of an action's parameters with the cookie that authenticates. */
function cookies(own: Readonly<Record<string, string>>, { headers }: Authorization): Record<string, string> {
  const both = [own["cookie"], headers["cookie"]].filter((each) => each !== undefined);
  return both.length < 2 ? {} : { cookie: both.join("; ") };
}

/** Refuses a path parameter of one or two dots, which would lead out of the action's path. */
function requirePlainPath(url: string): void {
  const path = url.replace(/[?#].*$/s, "").replace(/^[a-z]+:\/\/[^/]*/i, "");
  const leadsOut = path.split(/[/\\]|%2f|%5c/i).some((part) => /^(?:\.|%2e){1,2}$/i.test(part));
  if (leadsOut) throw new ActionRefused("inputs", 'no part of the path may be "." or ".."');
}

interface EncodedBody {
  readonly bytes: string | Uint8Array;
  readonly type: string;
  /** The request in a form for people. */
  readonly preview: Json;
}

function encoded(body: RequestBody): EncodedBody {
  if ("json" in body) {
    const { json: preview, text: bytes = JSON.stringify(preview) } = body;
    return { bytes, type: "application/json", preview };
  }
  if ("text" in body) return { bytes: body.text, type: body.type, preview: body.text };
  if ("bytes" in body) return { ...body, preview: `[${body.bytes.byteLength} bytes]` };
  if ("form" in body) {
    const text = new URLSearchParams(body.form.map(pair)).toString();
    return { bytes: text, type: "application/x-www-form-urlencoded", preview: Object.fromEntries(body.form) };
  }
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const parts = body.parts.flatMap(({ name, content, filename, type }) => {
    const file = filename === undefined ? "" : `; filename="${quoted(filename)}"`;
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${file}\r\n`;
    const kind = type === undefined ? "" : `content-type: ${type.replaceAll(/[^\x20-\x7e]/g, "")}\r\n`;
    return [Buffer.from(`${head}${kind}\r\n`), Buffer.from(content), Buffer.from("\r\n")];
  });
  const visible = body.parts.map(({ name, content }) => [
    name,
    typeof content === "string" ? content : `[${content.byteLength} bytes]`,
  ]);
  return {
    bytes: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
    type: `multipart/form-data; boundary=${boundary}`,
    preview: Object.fromEntries(visible) as Json,
  };
}

/** Quotes names in multipart bodies as the HTML standard does. */
function quoted(name: string): string {
  return name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}

const pair = ([name, value]: readonly [string, string]): [string, string] => [name, value];
