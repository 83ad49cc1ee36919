import { sha256 } from "../derived-id.ts";
import { ValidationProblem, invalid, type ValidationIssue } from "../errors.ts";
import { canonicalJson } from "../flow/definition/content-hash.ts";
import { readFrontMatter, type FrontMatter } from "./front-matter.ts";

/** The required file of a skill, which refers to its other files. */
export const SKILL_FILE = "SKILL.md";
export const MAX_SKILL_FILES = 200;
/** Most bytes of all files of a skill together. */
export const MAX_SKILL_BYTES = 30 * 1024 * 1024;
export const MAX_PATH_CHARS = 255;

/** A file of a skill, with its path from the folder of `SKILL.md`. */
export interface BundleFile {
  readonly path: string;
  readonly content: Uint8Array;
}

export interface ListedFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
}

/** A valid skill, with its files ordered by path. */
export interface SkillBundle extends FrontMatter {
  readonly files: ReadonlyArray<BundleFile & ListedFile>;
  /** Bytes of all files together. */
  readonly size: number;
  /** SHA-256 (hex) of paths and contents, which is the same for the same files, however they were packed. */
  readonly content_hash: string;
}

/** The location of a file, or of a field in it, in an error. */
export function fileAt(path: string, ...field: readonly string[]): string[] {
  return ["body", "files", path.toWellFormed().slice(0, MAX_PATH_CHARS), ...field];
}

/** Throws 422 if a skill exceeds its limits. Called while files are being read, so that no more than the limit is ever kept. */
export function requireWithinLimits(files: number, bytes: number): void {
  if (files > MAX_SKILL_FILES)
    throw invalid(["body", "files"], `A skill can have at most ${MAX_SKILL_FILES} files`, "too_many_files");
  if (bytes > MAX_SKILL_BYTES)
    throw invalid(
      ["body", "files"],
      `The files of a skill can have at most ${MAX_SKILL_BYTES} bytes together`,
      "too_large",
    );
}

/**
 * Checks an uploaded skill. Strips a folder that contains all files, and drops files that macOS adds to archives. Throws a 422 that names
 * each invalid file and field.
 */
export function readBundle(uploaded: readonly BundleFile[]): SkillBundle {
  const given = withoutFolder(uploaded.filter(({ path }) => !/^__MACOSX\/|(^|\/)\.DS_Store$/.test(path)));
  requireWithinLimits(
    given.length,
    given.reduce((sum, { content }) => sum + content.byteLength, 0),
  );
  const issues = pathIssues(given.map(({ path }) => path));
  if (issues.length > 0) throw new ValidationProblem(issues);
  const skillFile = given.find(({ path }) => path === SKILL_FILE);
  if (skillFile === undefined)
    throw invalid(fileAt(SKILL_FILE), `${SKILL_FILE} is missing (in capitals, in the top folder)`, "missing");
  const { frontMatter } = readSkillFile(skillFile.content);
  const files = given
    .map(({ path, content }) => ({ path, content, size: content.byteLength, sha256: sha256(content) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    ...frontMatter,
    files,
    size: files.reduce((sum, { size }) => sum + size, 0),
    content_hash: sha256(canonicalJson(files.map(({ path, sha256: hash }) => [path, hash]))),
  };
}

/** Reads a `SKILL.md`. Throws a 422 that names the invalid field. */
export function readSkillFile(content: Uint8Array): { frontMatter: FrontMatter; instructions: string } {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw invalid(fileAt(SKILL_FILE), "The file is not valid UTF-8");
  }
  const read = readFrontMatter(text);
  if ("issues" in read) {
    throw new ValidationProblem(read.issues.map(({ field, msg }) => issue(SKILL_FILE, msg, ...field)));
  }
  return read;
}

/** The paths within the common folder, if all files are in one. */
function withoutFolder(files: readonly BundleFile[]): readonly BundleFile[] {
  const folder = /^[^/]+\//.exec(files[0]?.path ?? "")?.[0];
  if (folder === undefined || !files.every(({ path }) => path.startsWith(folder))) return files;
  return files.map(({ path, content }) => ({ path: path.slice(folder.length), content }));
}

function pathIssues(paths: readonly string[]): ValidationIssue[] {
  const seen = new Set<string>();
  const folders = new Set(paths.flatMap(foldersOf));
  return paths.flatMap((path) => {
    const fault = faultOfPath(path) ?? (seen.has(path) ? "Duplicate path" : undefined);
    seen.add(path);
    if (fault !== undefined) return [issue(path, fault, "path")];
    return folders.has(path) ? [issue(path, "The path is used for both a file and a folder", "path")] : [];
  });
}

function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function faultOfPath(path: string): string | undefined {
  if (path === "" || path.length > MAX_PATH_CHARS) return `A path must have 1 to ${MAX_PATH_CHARS} characters`;
  if (!path.isWellFormed() || /\p{Cc}/u.test(path)) return "A path cannot contain control characters";
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "An absolute path is not allowed";
  if (path.includes("\\")) return "A path must use / between its parts, not a backslash";
  if (path.split("/").some((part) => part === "" || part === "." || part === ".."))
    return 'A path cannot contain empty parts, "." or ".."';
  return undefined;
}

function issue(path: string, msg: string, ...field: readonly string[]): ValidationIssue {
  return { loc: fileAt(path, ...field), msg, type: "value_error" };
}
