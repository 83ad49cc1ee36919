import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { readVersionName } from "../../domain/skills/reference.ts";
import { openSkill } from "../../services/skills/load-skill.ts";
import { createSkillVersion, requireSkill } from "../../services/skills/skills.ts";
import { findSkillVersion, listSkillVersions, type SkillVersionRow } from "../../stores/skills/skills.ts";
import type { ListedFile } from "../../domain/skills/bundle.ts";
import { fileNameHeader } from "../http/file-name-header.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, linkTo } from "../http/operation.ts";
import { asDeclared, named, pathId, pathSkillVersion } from "../http/schemas.ts";
import { SKILL_EXAMPLES, ZIP, readSkill, skillBody, skillForm } from "./skill-upload.ts";
import { UPLOAD, contentHash, define } from "./skills.ts";

const skillVersionSchema = named("SkillVersion", {
  skill_id: z.uuid(),
  version: z.int().min(1),
  name: z.string(),
  description: z.string(),
  license: z.string().nullable(),
  compatibility: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  allowed_tools: z.array(z.string()),
  file_count: z.int(),
  size: z.int().describe("Total size of its files in bytes."),
  content_hash: contentHash,
  created_by: z.uuid().nullable().describe("ID of the user or API key."),
  created_at: z.iso.datetime(),
});

const skillVersionWithFilesSchema = named("SkillVersionWithFiles", {
  ...skillVersionSchema.shape,
  instructions: z.string().describe("The Markdown of its SKILL.md, without the front matter."),
  files: z.array(z.object({ path: z.string(), size: z.int(), sha256: z.string() })),
});

function presentSkillVersion(version: SkillVersionRow): z.infer<typeof skillVersionSchema> {
  return asDeclared(skillVersionSchema, { ...version, file_count: version.files.length });
}

function presentFiles(files: readonly ListedFile[]): z.infer<typeof skillVersionWithFilesSchema>["files"] {
  return files.map(({ path, size, sha256 }) => ({ path, size, sha256 }));
}

const PATH = "/v2/skills/{skill_id}/versions";
const params = z.object({ skill_id: pathId("skill") });

const LINKS = { get: linkTo("getSkillVersion", ["skill_id", "version"]) };

/** `/v2/skills/{skill_id}/versions`: the versions of a skill. */
export const skillVersionOperations = [
  define({
    id: "listSkillVersions",
    route: `GET ${PATH}`,
    summary: "List a skill's versions",
    description: "Lists the versions of a skill, newest first, without their files. Versions never change.",
    params,
    query: listQuery,
    success: { 200: { description: "A page of versions.", schema: pageOf(skillVersionSchema) } },
    async handler({ params: { skill_id }, query, principal: { org_id } }, { db }) {
      return db.org(org_id, async (connection) => {
        await requireSkill(connection, skill_id);
        return listPage("skill-versions", org_id, query, {
          filters: { skill_id },
          fetch: (keyset) => listSkillVersions(connection, skill_id, keyset),
          idOf: ({ version }) => String(version),
          isId: (text) => /^[1-9]\d{0,8}$/.test(text),
          present: presentSkillVersion,
        });
      });
    },
  }),
  define({
    id: "createSkillVersion",
    route: `POST ${PATH}`,
    summary: "Add a version to a skill",
    description: `Creates a new version of a skill. Versions are immutable and numbered from 1. Files identical to an earlier version return that version (200). The default version does not change; set it with \`PATCH /v2/skills/{skill_id}\`.\n\n${UPLOAD}`,
    params,
    body: skillBody.optional(),
    multipart: skillForm,
    bytes: ZIP,
    bodyLimit: "run",
    idempotent: "claim",
    examples: SKILL_EXAMPLES,
    problems: ["bad_request", "quota_exceeded"],
    success: {
      200: {
        description: "An earlier version has identical files; it is returned.",
        schema: skillVersionSchema,
        links: LINKS,
      },
      201: created("The new version.", skillVersionSchema, LINKS),
    },
    async handler({ params: { skill_id }, body, ctx, principal: { org_id, id }, audit }, deps) {
      await deps.db.org(org_id, (connection) => requireSkill(connection, skill_id));
      const bundle = await readSkill(ctx, body);
      const { row, created } = await createSkillVersion(deps, { org_id, skill_id, created_by: id }, bundle, {
        audit,
        target: { type: "skill", id: skill_id },
        view: presentSkillVersion,
      });
      const answer = presentSkillVersion(row);
      if (!created) return { status: 200, body: answer };
      return { status: 201, body: answer, headers: { Location: `/v2/skills/${skill_id}/versions/${row.version}` } };
    },
  }),
  define({
    id: "getSkillVersion",
    route: `GET ${PATH}/{version}`,
    summary: "Get or download a version of a skill",
    description:
      "Returns a version with its instructions and its list of files. With `Accept: application/zip` it returns the files as an archive, in a folder with the skill's name.",
    params: params.extend({ version: pathSkillVersion() }),
    success: {
      200: {
        description: "The version, or the archive of its files.",
        schema: skillVersionWithFilesSchema,
        content: { [ZIP]: null },
        headers: { ETag: "The content hash. Sent with the archive only." },
      },
    },
    async handler({ params: { skill_id, version }, ctx, principal: { org_id } }, { db, blobs }) {
      const row = await db.org(org_id, async (connection) => {
        await requireSkill(connection, skill_id);
        return findSkillVersion(connection, skill_id, readVersionName(version));
      });
      if (row === null) throw notFound("skill version");
      if (ctx.accepts("application/json", ZIP) === ZIP) {
        const { stream, size } = await blobs.openRead(row.blob_key);
        return {
          status: 200,
          type: ZIP,
          content: stream,
          headers: {
            "Content-Length": String(size),
            "Content-Disposition": fileNameHeader(`${row.name}-${row.version}.zip`),
            ETag: `"${row.content_hash}"`,
          },
        };
      }
      const skill = openSkill(blobs, row);
      const instructions = await skill.instructions();
      return { status: 200, body: { ...presentSkillVersion(row), instructions, files: presentFiles(skill.files) } };
    },
  }),
];
