import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/json.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { document } from "./conformance.ts";

const NUMBERS = ["9007199254740993", "1e400", "9007199254740993.0"];
/** The values to which JSON.parse would round the numbers. */
const ROUNDED = /9007199254740992|9007199254740994|1\.79769/;
/** Deeper levels repeat the schemas above them. */
const MAX_DEPTH = 4;
const MARK = "the-number";

type Way = readonly string[];
interface Place {
  readonly way: Way;
  /** Whether any JSON is allowed here; otherwise only numbers or only texts. */
  readonly isFree: boolean;
}

const components = (document as unknown as { components: { schemas: Record<string, JsonObject> } }).components.schemas;
const listOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);

/** The locations in a body where a number may be, according to its schema. */
function placesOf(given: JsonObject, way: Way = [], above: readonly string[] = []): Place[] {
  if (way.length > MAX_DEPTH) return [];
  // A flow is validated separately, as the test below checks.
  if (way.at(-1) === "flow") return [{ way: [...way, "ui", "x"], isFree: true }];
  const name = ((given["$ref"] ?? "") as string).split("/").at(-1) ?? "";
  if (above.includes(name)) return [];
  if (name === "Json" || (Object.keys(given).length > 0 && isAny(given))) return [{ way, isFree: true }];
  const schema = name === "" ? given : (components[name] ?? {});
  const within = name === "" ? above : [...above, name];
  if (isAny(schema)) return [{ way, isFree: true }];
  const { properties, additionalProperties: others, items, anyOf, oneOf, allOf, type } = schema;
  const inner = Object.entries((properties ?? {}) as Record<string, JsonObject>).flatMap(([member, each]) =>
    placesOf(each, [...way, member], within),
  );
  const open = typeof others === "object" ? placesOf(others as JsonObject, [...way, "x"], within) : [];
  const list = typeof items === "object" ? placesOf(items as JsonObject, [...way, "0"], within) : [];
  const parts = [anyOf, oneOf, allOf].flatMap(listOf).flatMap((each) => placesOf(each, way, within));
  const isLeaf = [type].flat().some((each) => each === "integer" || each === "number" || each === "string");
  return [...(isLeaf ? [{ way, isFree: false }] : []), ...inner, ...open, ...list, ...parts];
}

const STRUCTURE = [
  "type",
  "properties",
  "additionalProperties",
  "items",
  "anyOf",
  "oneOf",
  "allOf",
  "$ref",
  "enum",
  "const",
];

/** Whether a schema allows any JSON. */
function isAny(schema: JsonObject): boolean {
  return !STRUCTURE.some((name) => name in schema) || JSON.stringify(schema["anyOf"] ?? "").includes("propertyNames");
}

/** The example with MARK at a location; null if the example has another value on the way. */
function marked(example: unknown, [step, ...rest]: Way): unknown {
  if (step === undefined) return MARK;
  if (/^\d+$/.test(step)) return [marked(Array.isArray(example) ? example[0] : undefined, rest)];
  const own = typeof example === "object" && example !== null && !Array.isArray(example) ? example : {};
  return { ...own, [step]: marked((own as Record<string, unknown>)[step], rest) };
}

/** Whether an issue is about a location, one of its parents, or an alternative of it. */
const isAbout = (loc: ReadonlyArray<string | number>, way: Way): boolean =>
  loc.slice(1).every((step, at) => String(step) === way[at]) || way.every((step, at) => String(loc[at + 1]) === step);

const locsOf = (text: string): Array<Array<string | number>> =>
  (JSON.parse(text) as { detail: Array<{ loc: Array<string | number> }> }).detail.map(({ loc }) => loc);

let tenant: ApiTenant;

beforeAll(async () => {
  tenant = await openTenant();
});

describe("silent-digits: a number that a double cannot hold", () => {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as unknown as Record<string, JsonObject>).flatMap(([method, operation]) => {
      const body = operation["requestBody"] as JsonObject | undefined;
      const json = (body?.["content"] as Record<string, JsonObject> | undefined)?.["application/json"];
      const places = json === undefined ? [] : placesOf(json["schema"] as JsonObject);
      const [example] = Object.values((json?.["examples"] ?? {}) as Record<string, JsonObject>);
      return places.length === 0 ? [] : [{ name: `${method.toUpperCase()} ${path}`, path, method, places, example }];
    }),
  );

  it.each(operations)(
    "keeps its digits or is rejected with its location by $name",
    async ({ path, method, places, example }) => {
      const address = path
        .replace("{org_id}", tenant.org_id)
        .replaceAll(/\{provider_id\}/g, "http")
        .replaceAll(/\{\w+\}/g, () => uuidv7());
      for (const [index, { way, isFree }] of places.entries()) {
        const number = NUMBERS[index % NUMBERS.length] ?? "";
        const body = JSON.stringify(marked(example?.["value"], way)).replace(`"${MARK}"`, number);
        const headers = { "content-type": "application/json" };
        const response = await tenant.secret.raw(method.toUpperCase(), address, body, { headers });
        const text = await response.text();
        const said = `${body} answered ${response.status} ${text.slice(0, 500)}`;
        expect(response.status, said).toBeLessThan(500);
        expect(text, said).not.toMatch(ROUNDED);
        if (isFree) continue;
        if (response.status !== 422) expect([401, 403, 404, 415], said).toContain(response.status);
        else
          expect(
            locsOf(text).some((loc) => isAbout(loc, way)),
            said,
          ).toBe(true);
      }
    },
  );

  it("is kept in a flow document, or is a problem with its location", async () => {
    const [long] = NUMBERS;
    const flow = (config: string, more: string) =>
      `{"schema_version":1,"name":"Numbers","nodes":[{"id":"in-0","type":"input"},{"id":"http-0","type":"http","config":{"url":"https://example.com","method":"POST",${config}},"on_error":"continue",${more}},{"id":"out-0","type":"output"}],"edges":[{"source":"in-0","target":"http-0"},{"source":"http-0","target":"out-0"}]}`;
    const options = { headers: { "content-type": "application/json" } };
    const kept = flow(`"body":{"id":${long}}`, `"default_output":{"id":${long},"huge":1e400}`);
    const { body: made } = await tenant.secret.post("/v2/projects", `{"name":"Numbers","flow":${kept}}`, options);
    const { body } = await tenant.secret.get(`/v2/projects/${made.project_id}/versions/1`);
    expect(body.flow.nodes[1]).toMatchObject({
      config: { body: { id: long } },
      default_output: { id: long, huge: "1e400" },
    });
    const refused = flow(`"body":{}`, `"timeout_ms":${long}`);
    const { body: checked } = await tenant.secret.post("/v2/flows/validate", `{"flow":${refused}}`, options);
    const problem = expect.objectContaining({ severity: "error", path: ["nodes", 1, "timeout_ms"] });
    expect(checked).toMatchObject({ valid: false, problems: expect.arrayContaining([problem]) });
  });

  it("is tested with every operation that accepts JSON bodies", () => {
    expect(operations.length).toBeGreaterThan(55);
    expect(operations.filter(({ places }) => places.some(({ isFree }) => isFree)).length).toBeGreaterThan(20);
  });
});
