import contentDisposition from "content-disposition";
import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { readVersionName } from "../../domain/skills/reference.ts";
import { openSkill } from "../../services/skills/load-skill.ts";
import { createSkillVersion, requireSkill } from "../../services/skills/skills.ts";
import { findSkillVersion, listSkillVersions } from "../../stores/skills/skills.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId, pathSkillVersion } from "../http/path-id.ts";
import {
  presentFiles,
  presentSkillVersion,
  skillVersionSchema,
  skillVersionWithFilesSchema,
} from "./skill-presenter.ts";
import { SKILL_EXAMPLES, ZIP, readSkill, skillBody, skillForm } from "./skill-upload.ts";
import { UPLOAD } from "./skills.ts";

const COMMON = { tag: "Skills", auth: "secret" } as const;
const PATH = "/v2/skills/{skill_id}/versions";
const params = z.object({ skill_id: pathId("skill") });

const LINKS = { get: linkTo("getSkillVersion", ["skill_id", "version"]) };

/** `/v2/skills/{skill_id}/versions`: what a skill was, and is. */
export function createSkillVersionOperations(deps: ApiDeps, { quotas }: ApiServices): Operation[] {
  const { db, blobs } = deps;
  return [
    defineOperation({
      ...COMMON,
      id: "listSkillVersions",
      method: "GET",
      path: PATH,
      summary: "List a skill's versions",
      description: "Newest first, without their files. Versions never change.",
      params,
      query: listQuery,
      success: {
        200: { description: "A page of versions.", schema: pageOf(skillVersionSchema, "SkillVersionPage") },
      },
      async handler({ params: { skill_id }, query, principal: { org_id } }) {
        return db.org(org_id, async (connection) => {
          await requireSkill(connection, skill_id);
          return listPage({
            list: "skill-versions",
            orgId: org_id,
            query,
            filters: { skill_id },
            fetch: (keyset) => listSkillVersions(connection, skill_id, keyset),
            idOf: ({ version }) => String(version),
            isId: (text) => /^[1-9]\d{0,8}$/.test(text),
            present: presentSkillVersion,
          });
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "createSkillVersion",
      method: "POST",
      path: PATH,
      summary: "Add a version to a skill",
      description: `Versions are immutable and count from 1. Files that an earlier version has are that version. The default version stays what it is: \`PATCH /v2/skills/{skill_id}\` chooses it.\n\n${UPLOAD}`,
      params,
      body: skillBody.optional(),
      multipart: skillForm,
      bytes: ZIP,
      bodyLimit: "run",
      idempotent: "claim",
      examples: SKILL_EXAMPLES,
      problems: ["bad_request", "quota_exceeded"],
      success: {
        200: { description: "There was a version with these files already.", schema: skillVersionSchema, links: LINKS },
        201: {
          description: "The new version.",
          schema: skillVersionSchema,
          headers: { Location: "Its address." },
          links: LINKS,
        },
      },
      async handler({ params: { skill_id }, body, ctx, principal: { org_id, id }, audit }) {
        await db.org(org_id, (connection) => requireSkill(connection, skill_id));
        const bundle = await readSkill(ctx, body);
        const { row, created } = await createSkillVersion(
          { ...deps, quotas },
          { org_id, skill_id, created_by: id },
          bundle,
          { audit, target: { type: "skill", id: skill_id }, view: presentSkillVersion },
        );
        const answer = presentSkillVersion(row);
        if (!created) return { status: 200, body: answer };
        return { status: 201, body: answer, headers: { Location: `/v2/skills/${skill_id}/versions/${row.version}` } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getSkillVersion",
      method: "GET",
      path: `${PATH}/{version}`,
      summary: "Get a version of a skill, or download it",
      description:
        "With `Accept: application/zip` the answer is the files as an archive, in a folder of the skill's name.",
      params: params.extend({ version: pathSkillVersion() }),
      success: {
        200: {
          description: "The version with its instructions and the list of its files, or the archive.",
          schema: skillVersionWithFilesSchema,
          content: { [ZIP]: null },
          headers: { ETag: "The content hash; of the archive only." },
        },
      },
      async handler({ params: { skill_id, version }, ctx, principal: { org_id } }) {
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
              "Content-Disposition": contentDisposition(`${row.name}-${row.version}.zip`, { type: "attachment" }),
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
}
