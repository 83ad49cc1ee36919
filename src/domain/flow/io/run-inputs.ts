import type { Json } from "../../json.ts";
import type { ValidationIssue } from "../../errors.ts";
import type { FlowLimits } from "../definition/limits.ts";
import type { NodeConfigs } from "../nodes/index.ts";
import { readMedia } from "../../media/media.ts";
import type { MediaKind } from "../../media/media.ts";
import { isWebAddress } from "../../web-address.ts";
import { imageTypes } from "../nodes/image.ts";
import type { Plan, PlanNode, PlanNodeOf } from "../plan/types.ts";

export interface CheckedInputs {
  /** By node id, defaults filled in; an optional input that was not given is absent. */
  readonly inputs: Readonly<Record<string, Json>>;
  /** Members of the body that no input takes, for `metadata.ignored_inputs`; at most 100, cut to 200 characters. */
  readonly ignored: readonly string[];
  readonly issues: readonly ValidationIssue[];
}

/** Members of an inference call's body that are no inputs. */
const RESERVED_INPUTS: readonly string[] = ["user_id", "stream"];

const MAX_IGNORED = 100;
const MAX_IGNORED_CHARS = 200;

/**
 * Checks the inputs of a run against the flow's input nodes (contract section 2): unknown members are ignored and
 * reported, null counts as not given, and every offending input is an issue at `[...loc, <node_id>]`. `loc` is
 * `["body"]` unless given; `reserved` names the members that are no inputs (RESERVED_INPUTS unless given).
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
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return {
      inputs: {},
      ignored: [],
      issues: [{ loc, msg: "The inputs are an object of <node_id> to value", type: "dict_type" }],
    };
  }
  const inputs: Record<string, Json> = {};
  const issues: ValidationIssue[] = [];
  const known = new Set(reserved);
  for (const node of plan.nodes) {
    if (!Object.hasOwn(GIVEN, node.type) || reserved.includes(node.id)) continue;
    known.add(node.id);
    // Own members only: inherited ones are not part of the request.
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

/** The kinds that a run's body gives a value, and what to give. */
const GIVEN: Readonly<Partial<Record<PlanNode["type"], string>>> = {
  input: "a text",
  string: "a text",
  url: "a web address",
  audio: "a recording, as base64 or the id of an uploaded file,",
  image: "a picture, as base64, a web address or the id of an uploaded file,",
};

type Fault = Pick<ValidationIssue, "msg" | "type">;

function checkInput(
  node: PlanNode,
  value: unknown,
  limits: Pick<FlowLimits, "max_input_bytes">,
): string | Fault | undefined {
  // The kinds that are asked for have these members alike.
  const config = node.config as Partial<NodeConfigs["input"]>;
  const what = GIVEN[node.type] ?? "a text";
  if (value === undefined) {
    if (config.default !== undefined) return config.default;
    if (config.required === false) return undefined;
    return { msg: `This input is required: give ${what}, as in {"${node.id}": "..."}`, type: "missing" };
  }
  if (typeof value !== "string") return { msg: `Give ${what} as a string, not ${kindOf(value)}`, type: "string_type" };
  if (node.type === "url") return isWebAddress(value) ? value : addressFault(value);
  if (node.type === "audio" || node.type === "image") return mediaFault(node, value, limits) ?? value;
  const bytes = byteLength(value);
  if (bytes > limits.max_input_bytes) {
    return { msg: `This input has ${bytes} bytes; at most ${limits.max_input_bytes} are allowed`, type: "too_large" };
  }
  const max = config.max_length;
  if (max !== undefined && value.length > max && [...value].length > max) {
    return { msg: `This input may have at most ${max} characters; shorten it`, type: "string_too_long" };
  }
  return value;
}

function mediaFault(
  node: PlanNodeOf<MediaKind>,
  value: string,
  { max_input_bytes: maxBytes }: Pick<FlowLimits, "max_input_bytes">,
): Fault | undefined {
  const types = node.type === "image" ? { types: imageTypes(node.config) } : {};
  const read = readMedia(node.type, value, { maxBytes, ...types });
  return "msg" in read ? read : undefined;
}

function addressFault(value: string): Fault {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(value.slice(0, 50))?.[1]?.toLowerCase();
  return scheme !== undefined && scheme !== "http" && scheme !== "https"
    ? { msg: `Give an address that starts with http:// or https://, not ${scheme}:`, type: "url_scheme" }
    : { msg: "Give a whole web address, such as https://example.com/page", type: "url_parsing" };
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Length in UTF-8. */
function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
