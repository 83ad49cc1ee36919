import type { Json, JsonObject } from "../../src/domain/json.ts";
import { ActionFailed, ActionRefused, asText } from "../../src/domain/providers/action.ts";
import { S3ListUnreadable, S3Refused, UnusableKey, type Buckets } from "../../src/platform/s3/buckets.ts";
import type { Parts } from "../../src/services/parts.ts";
import { bucketsOf, noted } from "../../src/services/providers/remote-buckets.ts";
import { readableBody } from "../nodes/http-response.ts";
import { bytesOf, renderedCall, requireConnection, type ActionExecutor } from "./action-call.ts";
import { UNTIL_STOPPED } from "../fetch-limits.ts";

/** Longest object that is read (bytes), chosen so that its base64 fits a value. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

/** Carries out the actions of provider `s3`. */
export function createS3Actions({ guardedFetch }: Parts<"guardedFetch">): ActionExecutor {
  return async (call) => {
    const { action, inputs, dry_run, signal } = call;
    const connection = requireConnection(call);
    const content = action.action_id === "put_object" ? contentOf(inputs) : null;
    const rendered_request = renderedCall(connection, {
      action: action.action_id,
      ...inputs,
      ...(content === null ? {} : { content_type: content.type }),
      ...(inputs["body_base64"] === undefined ? {} : { body_base64: `[${content?.bytes.length} bytes]` }),
    });
    if (dry_run) return { outputs: null, rendered_request };
    const buckets = bucketsOf({ guardedFetch, limits: UNTIL_STOPPED }, connection);
    try {
      const work =
        content === null ? read(buckets, action.action_id, inputs, signal) : put(buckets, inputs, content, signal);
      return { outputs: await noted(connection, work), rendered_request };
    } catch (error) {
      throw toFailure(error);
    }
  };
}

async function read(buckets: Buckets, action: string, inputs: JsonObject, signal: AbortSignal): Promise<Json> {
  const bucket = asText(inputs["bucket"]);
  if (action === "list_objects") {
    const { prefix, delimiter, cursor } = inputs as Record<string, string | undefined>;
    const maxKeys = inputs["max_keys"] as number | undefined;
    const page = await buckets.list(bucket, { prefix, delimiter, maxKeys, cursor }, signal);
    return { objects: page.objects.map((each) => ({ ...each })), prefixes: page.prefixes, cursor: page.cursor };
  }
  const key = asText(inputs["key"]);
  const answer = await buckets.get(bucket, key, { maxBytes: MAX_OBJECT_BYTES }, signal);
  const { etag = null, "content-type": content_type = null, "last-modified": last_modified = null } = answer.headers;
  return { key, size: answer.body.length, etag, last_modified, content_type, body: readableBody(answer) };
}

interface Content {
  readonly bytes: Uint8Array;
  readonly type: string;
}

async function put(buckets: Buckets, inputs: JsonObject, { bytes, type }: Content, signal: AbortSignal): Promise<Json> {
  const key = asText(inputs["key"]);
  const { etag } = await buckets.put(asText(inputs["bucket"]), key, bytes, type, signal);
  return { key, etag, size: bytes.length };
}

function contentOf({ body, body_base64, content_type }: JsonObject): Content {
  if ((body === undefined) === (body_base64 === undefined))
    throw new ActionRefused("inputs", "body: send either body or body_base64");
  const type = typeof content_type === "string" ? content_type : undefined;
  if (body_base64 !== undefined)
    return { bytes: bytesOf(asText(body_base64), "body_base64"), type: type ?? "application/octet-stream" };
  return typeof body === "string"
    ? { bytes: Buffer.from(body), type: type ?? "text/plain; charset=utf-8" }
    : { bytes: Buffer.from(JSON.stringify(body)), type: type ?? "application/json" };
}

/** Whole objects may be read and written repeatedly, so a transient refusal is retried. */
function toFailure(error: unknown): unknown {
  if (error instanceof UnusableKey) return new ActionRefused("inputs", `key: ${error.message}`);
  if (error instanceof S3ListUnreadable) return new ActionFailed("some", "action_refused", error.message);
  if (!(error instanceof S3Refused)) return error;
  const { status, message } = error;
  const code = error.ofCredential ? "connection_rejected" : "action_refused";
  return new ActionFailed("some", code, message, {
    retryable: status >= 500 || status === 429,
    upstream_status: status,
    cause: error,
  });
}
