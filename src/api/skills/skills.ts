import { z } from "zod";
import { auditAs } from "../../services/audit/audit.ts";
import { changeDefaultVersion, createSkill, deleteSkill, requireSkill } from "../../services/skills/skills.ts";
import { listSkills, type SkillRow } from "../../stores/skills/skills.ts";
import { listUsers } from "../../services/projects/flow-references.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";
import { SKILL_EXAMPLES, ZIP, readSkill, skillBody, skillForm } from "./skill-upload.ts";

export const contentHash = z.string().describe("SHA-256 in hexadecimal digits of the paths and contents of its files.");

const skillSchema = named("Skill", {
  skill_id: z.uuid(),
  name: z.string(),
  description: z
    .string()
    .describe(
      "What the skill does and when to use it. This field and the following ones are from the default version.",
    ),
  file_count: z.int(),
  size: z.int().describe("Total size of its files in bytes."),
  content_hash: contentHash,
  latest_version: z.int().min(1),
  default_version: z.int().min(1).describe("Version that flows use if they name none."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const skillWithUsersSchema = named("SkillWithUsers", {
  ...skillSchema.shape,
  used_by: z
    .array(z.object({ project_id: z.uuid(), name: z.string() }))
    .describe("Up to 100 projects whose published flow uses the skill."),
});

export const presentSkill = (skill: SkillRow) => asDeclared(skillSchema, skill);

const params = z.object({ skill_id: pathId("skill") });

const changeBody = namedStrict("SkillChange", { default_version: z.int().min(1).optional() });

const LINKS = {
  getSkill: linkTo("getSkill", ["skill_id"]),
  changeSkill: linkTo("changeSkill", ["skill_id"]),
  listSkillVersions: linkTo("listSkillVersions", ["skill_id"]),
  createSkillVersion: linkTo("createSkillVersion", ["skill_id"]),
};

/** The ways to send a skill. */
export const UPLOAD =
  "Send the files as multipart `files[]` (the file name of each part is its path), as a ZIP archive (the body itself or the part `file`) or as JSON. The files may be inside one enclosing folder. `SKILL.md` is required and starts with YAML front matter: `name`, `description` and optionally `license`, `compatibility`, `metadata` and `allowed-tools`. At most 200 files and 30 MiB; links, absolute paths and `..` are rejected.";

const auditOf = auditAs("skill", presentSkill);

const toResponse = (skill: SkillRow) => tagged(presentSkill(skill), revisionTag(skill.revision));

export const define = operationsOf({ tag: "Skills", auth: "secret" });

/** `/v2/skills`: instructions and files for models. */
export const skillOperations = [
  define({
    id: "createSkill",
    route: "POST /v2/skills",
    summary: "Create a skill",
    description: `Creates a skill with version 1. ${UPLOAD}`,
    body: skillBody.optional(),
    multipart: skillForm,
    bytes: ZIP,
    bodyLimit: "run",
    idempotent: "claim",
    examples: SKILL_EXAMPLES,
    problems: ["bad_request", "name_taken", "quota_exceeded"],
    success: { 201: created("The skill with its version 1.", skillSchema, LINKS, ETAG) },
    async handler({ body, ctx, principal: { org_id, id }, newId, audit }, deps) {
      const skill_id = newId();
      const bundle = await readSkill(ctx, body);
      const { row, created } = await createSkill(
        deps,
        { org_id, skill_id, created_by: id },
        bundle,
        auditOf(audit, skill_id),
      );
      const answer = asCreated(toResponse(row), `/v2/skills/${row.skill_id}`);
      return created ? answer : { ...answer, headers: { ...answer.headers, "Idempotent-Replayed": "true" } };
    },
  }),
  define({
    id: "listSkills",
    route: "GET /v2/skills",
    summary: "List skills",
    description: "Lists skills, newest first, without their files.",
    query: listQuery,
    success: { 200: { description: "A page of skills.", schema: pageOf(skillSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      return listPage("skills", org_id, query, {
        fetch: (keyset) => reads.org(org_id, (connection) => listSkills(connection, keyset)),
        idOf: (skill) => skill.skill_id,
        present: presentSkill,
      });
    },
  }),
  define({
    id: "getSkill",
    route: "GET /v2/skills/{skill_id}",
    summary: "Get a skill",
    description: "Returns the skill with its version numbers and the projects that use it.",
    params,
    success: { 200: { description: "The skill.", schema: skillWithUsersSchema, headers: ETAG } },
    async handler({ params: { skill_id }, principal: { org_id } }, { db }) {
      const [skill, used_by] = await db.org(org_id, async (connection) => [
        await requireSkill(connection, skill_id),
        await listUsers(connection, "skill", skill_id),
      ]);
      const { body, ...answer } = toResponse(skill);
      return { ...answer, body: { ...body, used_by } };
    },
  }),
  define({
    id: "changeSkill",
    route: "PATCH /v2/skills/{skill_id}",
    summary: "Set a skill's default version",
    description: "Sets the version that flows use when they name none. They use it from their next run.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: { first: { default_version: 1 } },
    success: { 200: { description: "The updated skill.", schema: skillSchema, headers: ETAG } },
    async handler({ params: { skill_id }, headers, body: { default_version }, principal: { org_id }, audit }, { db }) {
      return toResponse(
        await changeDefaultVersion(
          db,
          org_id,
          skill_id,
          default_version,
          matchesRevision(headers),
          auditOf(audit, skill_id),
        ),
      );
    },
  }),
  define({
    id: "deleteSkill",
    route: "DELETE /v2/skills/{skill_id}",
    summary: "Delete a skill",
    description:
      "Deletes a skill with all its versions. Returns 409 `in_use` if published flows use it; `used_by` lists up to 100 of their projects.",
    params,
    problems: ["in_use"],
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { skill_id }, principal: { org_id }, audit }, deps) =>
      deleteSkill(deps, org_id, skill_id, auditOf(audit, skill_id)),
  }),
];
