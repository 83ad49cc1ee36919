import { z } from "zod";
import {
  SKILL_FILE,
  MAX_PATH_CHARS,
  MAX_SKILL_BYTES,
  MAX_SKILL_FILES,
  readBundle,
  requireWithinLimits,
  type BundleFile,
  type SkillBundle,
} from "../../domain/skills/bundle.ts";
import { skillDescription, skillName, writeSkillFile } from "../../domain/skills/front-matter.ts";
import { unpackSkill } from "../../services/skills/unpack-skill.ts";
import type { RequestContext } from "../http/operation.ts";
import { isMultipart, readBody } from "../http/read-json.ts";
import { readMultipart } from "../http/read-multipart.ts";
import { namedStrict } from "../http/schemas.ts";

export const ZIP = "application/zip";
/** An uncompressed archive is longer than its files. */
const MAX_ARCHIVE_BYTES = MAX_SKILL_BYTES + 1024 * 1024;
/** A body up to this length gets a 422 that names the broken rule. A longer one is a 413. */
const MAX_BODY_BYTES = 2 * MAX_SKILL_BYTES;

// Without repeated groups, which overflow the stack on long texts.
const base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, "must be base64")
  .refine((text) => text.length % 4 === 0, "base64 must have a multiple of four characters")
  .meta({ contentEncoding: "base64" });

/** A skill as JSON: its SKILL.md is built from the first three fields. */
export const skillBody = namedStrict("SkillInput", {
  name: skillName,
  description: skillDescription.describe("What the skill does and when to use it."),
  instructions: z.string().min(1).describe("Instructions in Markdown, without front matter."),
  files: z
    .array(z.strictObject({ path: z.string().min(1).max(MAX_PATH_CHARS), content_base64: base64 }))
    .max(MAX_SKILL_FILES - 1)
    .default([])
    .describe("Files besides SKILL.md."),
});

/** A skill as files, or as an archive. */
export const skillForm = namedStrict("SkillUpload", {
  "files[]": z.array(z.file()).optional().describe("The files; the file name of each part is its path."),
  files: z.array(z.file()).optional().describe("Same as `files[]`."),
  file: z.file().optional().describe("A ZIP archive of the files."),
});

export const SKILL_EXAMPLES = {
  plain: {
    name: "refund-policy",
    description: "How refunds are decided. Use it when a customer asks for money back.",
    instructions: "# Refunds\n\nWithin 30 days: pay back. Later: see `references/exceptions.md`.\n",
    files: [{ path: "references/exceptions.md", content_base64: "QnJva2VuIGdvb2RzOiBhbHdheXMuCg==" }],
  },
};

/** Reads a skill in any of its forms. Throws 422 for an invalid skill. */
export async function readSkill(
  ctx: RequestContext,
  body: z.output<typeof skillBody> | undefined,
): Promise<SkillBundle> {
  if (body !== undefined) return readBundle(filesOfBody(body));
  if (!isMultipart(ctx.req)) return readBundle(await unpackSkill(await readBody(ctx, MAX_ARCHIVE_BYTES)));

  let bytes = 0;
  const { files } = await readMultipart(
    ctx,
    skillForm,
    { maxFileBytes: MAX_BODY_BYTES, maxFiles: MAX_SKILL_FILES },
    {
      async take({ field, filename, content }) {
        const chunks: Uint8Array[] = [];
        for await (const chunk of content) {
          requireWithinLimits(0, (bytes += chunk.byteLength));
          chunks.push(chunk);
        }
        return { field, path: filename, content: Buffer.concat(chunks) };
      },
      undo: async () => undefined,
    },
  );
  const [first] = files;
  const isArchive = first !== undefined && files.length === 1 && (first.field === "file" || /\.zip$/i.test(first.path));
  return readBundle(isArchive ? await unpackSkill(first.content) : files);
}

function filesOfBody({ name, description, instructions, files }: z.output<typeof skillBody>): BundleFile[] {
  const skillFile = { path: SKILL_FILE, content: Buffer.from(writeSkillFile({ name, description, instructions })) };
  return [
    skillFile,
    ...files.map(({ path, content_base64 }) => ({ path, content: Buffer.from(content_base64, "base64") })),
  ];
}
