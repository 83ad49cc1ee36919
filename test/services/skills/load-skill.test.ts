import { expect, it } from "vitest";
import { readBundle } from "../../../src/domain/skills/bundle.ts";
import { writeSkillFile } from "../../../src/domain/skills/front-matter.ts";
import { createFileBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { createLogger } from "../../../src/platform/logging/logger.ts";
import { loadSkill } from "../../../src/services/skills/load-skill.ts";
import { createQuotaReader } from "../../../src/services/accounts/quotas.ts";
import { createSkill, createSkillVersion, deleteSkill } from "../../../src/services/skills/skills.ts";
import { openTenant } from "../../api/tenant.ts";
import { NOT_AUDITED } from "../../support/not-audited.ts";
import { scratchDirectory } from "../../support/scratch.ts";

const SKILL_ID = "0197f0a0-0000-7000-8000-00000000000a";

it("loads a skill by ID and version, file by file, and leaves no blob behind", async () => {
  const [mine, others] = await Promise.all([openTenant(), openTenant()]);
  const blobs = await createFileBlobStore(scratchDirectory());
  await mine.withDatabase(async (db) => {
    const deps = {
      db,
      blobs,
      logger: createLogger({ level: "silent", service: "api" }),
      quotas: createQuotaReader(db, {}),
    };
    const skill = { org_id: mine.org_id, skill_id: SKILL_ID, created_by: SKILL_ID };
    const bundle = (instructions: string, more = "abc") =>
      readBundle([
        {
          path: "SKILL.md",
          content: Buffer.from(writeSkillFile({ name: "loaded", description: instructions, instructions })),
        },
        { path: "a/b.txt", content: Buffer.from(more) },
        { path: "a/empty", content: Buffer.alloc(0) },
      ]);
    await createSkill(deps, skill, bundle("# One"), NOT_AUDITED);
    await createSkillVersion(deps, skill, bundle("# Two", "d"));
    const load = async (reference: string, orgId = mine.org_id) => loadSkill(deps, orgId, reference);
    const first = await load(SKILL_ID);
    expect(first).toMatchObject({
      name: "loaded",
      description: "# One",
      version: 1,
      content_hash: expect.any(String),
      files: [{ path: "SKILL.md" }, { path: "a/b.txt", size: 3 }, { path: "a/empty", size: 0 }],
    });
    expect(await first?.instructions()).toBe("# One");
    expect([await first?.read("a/b.txt"), await first?.read("a/empty")].map(String)).toEqual(["abc", ""]);
    expect(await first?.read("../SKILL.md")).toBeNull();
    const [second, latest] = [await load(`${SKILL_ID}@2`), await load(`${SKILL_ID}@latest`)];
    expect([second?.version, latest?.version, String(await latest?.read("a/b.txt"))]).toEqual([2, 2, "d"]);
    for (const none of [`${SKILL_ID}@3`, `${SKILL_ID}@@1`, "x", ""]) expect(await load(none)).toBeNull();
    expect(await load(SKILL_ID, others.org_id)).toBeNull();
    await deleteSkill(deps, mine.org_id, SKILL_ID, NOT_AUDITED);
    await expect(first?.read("a/b.txt")).rejects.toThrow("No blob");
  });
  blobs.close();
});
