import { isObject, nameOfType, type Json } from "../../json.ts";
import type { ValidationIssue } from "../../errors.ts";
import type { FlowLimits } from "../definition/limits.ts";
import type { KindWith } from "../kinds.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import { readMedia, type MediaKind } from "../../media/media.ts";
import { isWebAddress } from "../../web-address.ts";
import { imageTypes } from "../nodes/image.ts";
import { byKind, hasTrait, type ByKind } from "../plan/by-kind.ts";
import type { Plan, PlanNodeOf } from "../plan/types.ts";

export interface CheckedInputs {
  /** By node ID, with defaults filled in; an omitted optional input is absent. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** Fields of the body that are not inputs, for `metadata.ignored_inputs`: at most 100, each cut to 200 characters. */
  readonly ignored: readonly string[];
  readonly issues: readonly ValidationIssue[];
}

/** Fields of an inference request's body that are not inputs. */
const RESERVED_INPUTS: readonly string[] = ["user_id", "stream"];

const MAX_IGNORED = 100;
const MAX_IGNORED_CHARS = 200;

/**
 * Checks a run's inputs against the flow's input nodes (contract section 2): unknown fields are ignored and reported, null counts as
 * omitted, and every invalid input is an issue at `[...loc, <node_id>]`. `loc` is `["body"]` by default; `reserved` names the fields that
 * are not inputs (RESERVED_INPUTS by default).
 */
export function validateRunInputs(
  plan: Plan,
  body: unknown,
  limits: Pick<FlowLimits, "max_input_bytes">,
  {
    loc = ["body"],
    reserved = RESERVED_INPUTS,
  }: { loc?: ReadonlyArray<string | number>; reserved?: readonly string[] } = {},
): CheckedInputs {
  if (!isObject(body)) {
    return {
      inputs: {},
      ignored: [],
      issues: [{ loc, msg: "The inputs must be an object of <node_id> to value", type: "dict_type" }],
    };
  }
  const inputs: Record<string, Json> = {};
  const issues: ValidationIssue[] = [];
  const known = new Set(reserved);
  for (const node of plan.nodes) {
    if (!hasTrait(node, "given", "value", "source") || reserved.includes(node.id)) continue;
    known.add(node.id);
    // Reads own fields only, because inherited ones are not part of the request.
    const value = Object.hasOwn(body, node.id) ? (body as Record<string, unknown>)[node.id] : undefined;
    const checked = checkInput(node, value ?? undefined, limits);
    if (typeof checked === "object") issues.push({ loc: [...loc, node.id], ...checked });
    else if (checked !== undefined) inputs[node.id] = checked;
  }
  const ignored: string[] = [];
  for (const key of Object.keys(body)) {
    if (known.has(key)) continue;
    ignored.push(key.slice(0, MAX_IGNORED_CHARS));
    if (ignored.length === MAX_IGNORED) break;
  }
  return { inputs, ignored, issues };
}

type GivenKind = KindWith<"given", "value" | "source">;
type Fault = Pick<ValidationIssue, "msg" | "type">;
type Limits = Pick<FlowLimits, "max_input_bytes">;

/** What to send for a node of each type, for messages. */
const GIVEN: Readonly<Record<GivenKind, string>> = {
  input: "text",
  string: "text",
  url: "a URL",
  audio: "a recording as base64, or the ID of an uploaded file,",
  image: "an image as base64, a URL or the ID of an uploaded file,",
};

const CHECKS: ByKind<[value: string, limits: Limits], Fault | undefined, GivenKind> = {
  input: textFault,
  string: textFault,
  url: (_node, value) => (isWebAddress(value) ? undefined : addressFault(value)),
  audio: mediaFault,
  image: mediaFault,
};

function checkInput(node: PlanNodeOf<GivenKind>, value: unknown, limits: Limits): string | Fault | undefined {
  // Each of these node types either has these fields or has none of that name.
  const config: Partial<NodeConfigs["input"]> = node.config;
  const what = GIVEN[node.type];
  if (value === undefined) {
    if (config.default !== undefined) return config.default;
    if (config.required === false) return undefined;
    return { msg: `This input is required: send ${what}, as in {"${node.id}": "..."}`, type: "missing" };
  }
  if (typeof value !== "string")
    return { msg: `Send ${what} as a string, not ${nameOfType(value)}`, type: "string_type" };
  return byKind(CHECKS, node, value, limits) ?? value;
}

function textFault({ config }: PlanNodeOf<"input" | "string">, value: string, limits: Limits): Fault | undefined {
  const bytes = byteLength(value);
  if (bytes > limits.max_input_bytes) {
    return { msg: `This input has ${bytes} bytes; at most ${limits.max_input_bytes} are allowed`, type: "too_large" };
  }
  const max = config.max_length;
  if (max !== undefined && value.length > max && [...value].length > max) {
    return { msg: `This input may have at most ${max} characters; shorten it`, type: "string_too_long" };
  }
  return undefined;
}

function mediaFault(
  node: PlanNodeOf<MediaKind>,
  value: string,
  { max_input_bytes: maxBytes }: Limits,
): Fault | undefined {
  const types = node.type === "image" ? { types: imageTypes(node.config) } : {};
  const read = readMedia(node.type, value, { maxBytes, ...types });
  return "msg" in read ? read : undefined;
}

function addressFault(value: string): Fault {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(value.slice(0, 50))?.[1]?.toLowerCase();
  return scheme !== undefined && scheme !== "http" && scheme !== "https"
    ? { msg: `The URL must start with http:// or https://, not ${scheme}:`, type: "url_scheme" }
    : { msg: "Send a complete URL, such as https://example.com/page", type: "url_parsing" };
}

/** Length in UTF-8. */
function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
