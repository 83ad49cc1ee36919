import { beforeAll, describe, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { CHANGES } from "./changes.ts";
import { operations } from "./conformance.ts";

const ROUNDS = [1, 2, 3, 4, 5];
/** They have one field, the title of a person's own conversation, and no ETag: the last change counts. */
const TITLES = ["changeConversation", "changePageConversation"];
const patches = operations.filter(({ id, method }) => method === "PATCH" && !TITLES.includes(id)).map(({ id }) => id);
const rows = Object.entries(CHANGES).flatMap(([operation, tried]) => tried.map((each) => ({ operation, ...each })));

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

it("covers every operation that changes a resource", () => {
  expect(patches.length).toBeGreaterThan(0);
  expect(Object.keys(CHANGES).toSorted()).toEqual(patches.toSorted());
});

describe("simultaneous changes of one resource", () => {
  it.each(rows)("all take effect: $operation", async ({ make, changes }) => {
    const path = await make(tenant);
    for (const round of ROUNDS) {
      const wanted = changes(round);
      const answers = await Promise.all(wanted.map(({ send }) => tenant.secret.patch(path, send)));
      expect(
        answers.map(({ status }) => status),
        JSON.stringify(answers),
      ).toEqual(wanted.map(() => 200));
      const { body } = await tenant.secret.get(path);
      for (const { send, shown = send } of wanted) expect(body).toMatchObject(shown);
    }
  });

  it.each(rows)("with the same If-Match, only one takes effect: $operation", async ({ make, changes }) => {
    const path = await make(tenant);
    for (const round of ROUNDS) {
      // Sets other values first, so that either of the two requests changes something.
      for (const { send } of changes(round + 1)) expect((await tenant.secret.patch(path, send)).status).toBe(200);
      const { headers } = await tenant.secret.get(path);
      const etag = { "if-match": headers.get("etag") ?? "" };
      const [one, other = one] = changes(round);
      const both = await Promise.all(
        [one, other].map((change) => tenant.secret.patch(path, change?.send, { headers: etag })),
      );
      expect(both.map(({ status }) => status).toSorted(), JSON.stringify(both)).toEqual([200, 412]);
    }
  });
});

it("accepts an ETag that a compressing proxy has marked, and no other variant", async () => {
  const path = "/v2/retention";
  const { headers } = await tenant.secret.get(path);
  const tag = headers.get("etag") ?? "";
  const patch = (etag: string) => tenant.secret.patch(path, {}, { headers: { "if-match": etag } });
  const suffixed = (text: string): string => text.replace(/"$/, '-gzip"');
  for (const marked of [`W/${tag}`, suffixed(tag), `"other", W/${tag}`]) expect((await patch(marked)).status).toBe(200);
  const other = tag.replace(/.(?="$)/, "!");
  for (const wrong of [`W/${other}`, suffixed(other), "W/", '""']) expect((await patch(wrong)).status).toBe(412);
});
