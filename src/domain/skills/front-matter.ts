import { parseDocument, stringify } from "yaml";
import { z } from "zod";
import type { Json } from "../json.ts";
import { unstorableText } from "../storable.ts";

/** Longest front matter, in characters. */
export const MAX_FRONT_MATTER_CHARS = 16 * 1024;
const NAME = /^[a-z0-9-]{1,64}$/;

export const skillName = z.string().regex(NAME, "Must be 1 to 64 characters of a to z, 0 to 9 and -");
export const skillDescription = z.string().trim().min(1).max(1024);

/** The front matter of a `SKILL.md`. Unknown fields stay in the file and are not checked. */
const frontMatterSchema = z
  .object({
    name: skillName,
    description: skillDescription,
    license: z.string().max(1024).optional(),
    compatibility: z.string().max(500).optional(),
    metadata: z.record(z.string().max(200), z.string().max(4000)).optional(),
    "allowed-tools": z.union([z.string(), z.array(z.string())]).optional(),
  })
  .transform(({ "allowed-tools": tools, license, compatibility, metadata, ...rest }) => ({
    ...rest,
    license: license ?? null,
    compatibility: compatibility ?? null,
    metadata: metadata ?? {},
    // A string separated by spaces or commas, or a list; parentheses after a tool's name may restrict it.
    allowed_tools: typeof tools === "string" ? (tools.match(/[^\s,(]+(?:\([^()]*\))?/g) ?? []) : (tools ?? []),
  }));
export type FrontMatter = Readonly<z.output<typeof frontMatterSchema>>;

interface FieldIssue {
  readonly field: readonly string[];
  readonly msg: string;
}

/** Reads YAML between two lines of `---`, and the Markdown after it. */
export function readFrontMatter(
  text: string,
): { frontMatter: FrontMatter; instructions: string } | { issues: readonly FieldIssue[] } {
  const bad = (msg: string): { issues: FieldIssue[] } => ({ issues: [{ field: ["front matter"], msg }] });
  if (!/^---[ \t]*\r?\n/.test(text)) return bad("The file must begin with a line --- followed by YAML");
  const begin = text.indexOf("\n") + 1;
  const end = /^---[ \t]*$/m.exec(text.slice(begin, begin + MAX_FRONT_MATTER_CHARS).replaceAll("\r\n", " \n"));
  if (end === null)
    return bad(`The YAML must end with a line --- within the first ${MAX_FRONT_MATTER_CHARS} characters`);
  const at = begin + end.index;
  const value = readYaml(text.slice(begin, at));
  if ("fault" in value) return bad(value.fault);
  const unstorable = unstorableText(value.read as Json);
  if (unstorable !== undefined) return bad(`The file contains ${unstorable.fault}, which cannot be stored`);
  const parsed = frontMatterSchema.safeParse(value.read);
  if (!parsed.success) {
    return { issues: parsed.error.issues.map((each) => ({ field: fieldOf(each.path), msg: each.message })) };
  }
  return { frontMatter: parsed.data, instructions: text.slice(at + 3).replace(/^[ \t]*(\r?\n)*/, "") };
}

/** Writes a `SKILL.md` from the given parts. */
export function writeSkillFile(skill: { name: string; description: string; instructions: string }): string {
  const { name, description, instructions } = skill;
  return `---\n${stringify({ name, description }, { lineWidth: 0 })}---\n\n${instructions}`;
}

/** Every scalar is read as a string (no dates, numbers or tags), and aliases are not allowed. */
function readYaml(text: string): { read: unknown } | { fault: string } {
  try {
    const document = parseDocument(text, { schema: "failsafe", logLevel: "silent", prettyErrors: false });
    const [error] = document.errors;
    if (error !== undefined) return { fault: `The front matter is not valid YAML: ${error.message.slice(0, 200)}` };
    return { read: document.toJS({ maxAliasCount: 0 }) as unknown };
  } catch (error) {
    // The text contains aliases, or is nested too deeply for the parser.
    return {
      fault: `The YAML cannot be read: ${error instanceof Error ? error.message.slice(0, 200) : "nested too deeply"}`,
    };
  }
}

const fieldOf = (path: readonly PropertyKey[]): string[] => (path.length === 0 ? ["front matter"] : path.map(String));
