import type { Change, FlowDocument, Json, JsonObject, Path } from "./document.ts";
import { setOwn } from "./update.ts";

type Entry = Change["removed"][number];

const isContainer = (value: unknown): value is readonly Json[] | JsonObject =>
  typeof value === "object" && value !== null;

const entriesOf = (value: readonly Json[] | JsonObject): readonly Entry[] =>
  Array.isArray(value) ? (value as readonly Json[]).map((each) => ["", each]) : Object.entries(value);

/**
 * What changed from one document to the other. Both share what did not change, so that equal parts are found without
 * reading them.
 */
export function changesBetween(before: FlowDocument, after: FlowDocument): readonly Change[] {
  const changes: Change[] = [];
  if (before !== after) collect(before, after, [], changes);
  return changes;
}

function collect(before: Container, after: Container, path: Path, changes: Change[]): void {
  const isList = Array.isArray(before);
  const [one, other] = [keysOf(before), keysOf(after)];
  // Fields that keep their place, and entries of a list, are compared one by one; everything between them is replaced.
  const isKept =
    isList && one.length !== other.length
      ? (mine: number, its: number) => Object.is(memberOf(before, mine), memberOf(after, its))
      : (mine: number, its: number) => isList || one[mine] === other[its];
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && isKept(start, start)) start += 1;
  let end = 0;
  while (end < most - start && isKept(one.length - 1 - end, other.length - 1 - end)) end += 1;
  const entryOf = (value: Container, keys: readonly string[], at: number): Entry => {
    const key = keys[at] ?? "";
    return isList ? ["", memberOf(value, at)] : [key, memberOf(value, key)];
  };
  const entries = (value: Container, keys: readonly string[]): Entry[] =>
    keys.slice(start, keys.length - end).map((_, at) => entryOf(value, keys, start + at));
  const [removed, inserted] = [entries(before, one), entries(after, other)];
  if (removed.length + inserted.length > 0) changes.push({ path, at: start, removed, inserted });
  for (let at = 0; at < other.length; at += 1) {
    if (at === start) at = other.length - end;
    if (at >= other.length) return;
    const key = isList ? at : (other[at] ?? "");
    const oldAt = at < start ? at : at - other.length + one.length;
    const [old, value] = [memberOf(before, isList ? oldAt : key), memberOf(after, key)];
    if (Object.is(old, value)) continue;
    if (isSimilar(old, value)) collect(old, value as Container, [...path, key], changes);
    else changes.push({ path, at, removed: [entryOf(before, one, oldAt)], inserted: [entryOf(after, other, at)] });
  }
}

/** The names of fields, or as many texts as a list has entries. */
const keysOf = (value: Container): readonly string[] =>
  Array.isArray(value) ? (value as readonly unknown[]).map(() => "") : Object.keys(value);

const isSimilar = (
  before: Json | undefined,
  after: Json | undefined,
): before is Json[] | Record<string, Json | undefined> =>
  isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after);

/** The changes that take the others back. */
export function invert(changes: readonly Change[]): readonly Change[] {
  return changes
    .map(({ path, at, removed, inserted }) => ({ path, at, removed: inserted, inserted: removed }))
    .toReversed();
}

type Container = Json[] | Record<string, Json | undefined>;

/** Throws if the document is not one that the changes were made for. */
export function applyChanges(document: FlowDocument, changes: readonly Change[]): FlowDocument {
  // Each list and object is copied once, however many changes it has: a tidy up of a large flow has thousands.
  const copies = new Set<unknown>();
  const copyOf = (value: Json | undefined): Container => {
    if (!isContainer(value)) throw new Error("The change is for another document");
    if (copies.has(value)) return value as Container;
    const copy: Container = Array.isArray(value) ? [...(value as readonly Json[])] : { ...(value as JsonObject) };
    copies.add(copy);
    return copy;
  };
  const root = { document: copyOf(document) as Json };
  for (const change of changes) {
    let holder: Container = root;
    let name: string | number = "document";
    for (const key of change.path) {
      const next = copyOf(memberOf(holder, name));
      setMember(holder, name, next);
      [holder, name] = [next, key];
    }
    const changed = splice(memberOf(holder, name), change, copyOf);
    copies.add(changed);
    setMember(holder, name, changed);
  }
  return root.document as unknown as FlowDocument;
}

const memberOf = (holder: Container, name: string | number): Json | undefined =>
  Array.isArray(holder) ? holder[Number(name)] : Object.hasOwn(holder, name) ? holder[name] : undefined;

function setMember(holder: Container, name: string | number, value: Json): void {
  if (Array.isArray(holder)) holder[Number(name)] = value;
  else setOwn(holder, String(name), value);
}

function splice(value: Json | undefined, change: Change, copyOf: (value: Json | undefined) => Container): Container {
  const { at, removed, inserted } = change;
  const isSame = removed.length === inserted.length && removed.every(([key], index) => key === inserted[index]?.[0]);
  if (!isSame && isContainer(value) && !Array.isArray(value))
    return Object.fromEntries(entriesOf(value).toSpliced(at, removed.length, ...inserted));
  const copy = copyOf(value);
  if (Array.isArray(copy)) copy.splice(at, removed.length, ...inserted.map(([, each]) => each as Json));
  else for (const [key, each] of inserted) setMember(copy, key, each as Json);
  return copy;
}
