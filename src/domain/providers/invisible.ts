import type { Json, JsonObject } from "../json.ts";
import { INVISIBLE, signsOf } from "../marks.ts";
import { MAX_DESCRIPTION, type ImportedAction, type ImportedProvider } from "./imported.ts";

/** The variation selector that shows a character as an emoji. */
const AS_EMOJI = "\uFE0F";
const MAX_SHOWN = 8;
/** Schema keywords that only describe. */
const WORDS: ReadonlySet<string> = new Set(["title", "description", "$comment", "examples", "example", "default"]);

/** The provider without invisible characters in the texts that models and people read. The descriptions for people say what was removed. */
export function visible({ provider, actions }: ImportedProvider): ImportedProvider {
  return {
    provider: { ...provider, name: plain(provider.name), description: plain(provider.description) },
    actions: actions.map(visibleAction),
  };
}

function visibleAction(action: ImportedAction): ImportedAction {
  const { name, description, input_schema, output_schema } = action;
  const removed = new Set(charactersOf(JSON.stringify([name, description, input_schema, output_schema])));
  if (removed.size === 0) return action;
  const codes = signsOf(removed);
  const list =
    codes.slice(0, MAX_SHOWN).join(", ") + (codes.length > MAX_SHOWN ? `, ${codes.length - MAX_SHOWN} more` : "");
  const note = ` [invisible characters were removed: ${list}]`;
  return {
    ...action,
    name: plain(name) || action.action_id,
    description: {
      human: plain(description.human).slice(0, MAX_DESCRIPTION - note.length) + note,
      llm: plain(description.llm) || action.action_id,
    },
    input_schema: visibleSchema(input_schema),
    output_schema: visibleSchema(output_schema),
  };
}

/**
 * Invisible characters outside of descriptions are significant and cannot be removed, so such a schema is replaced by one that accepts any
 * object.
 */
function visibleSchema(schema: JsonObject): JsonObject {
  const cleaned = cleanWords(schema, false) as JsonObject;
  if (charactersOf(JSON.stringify(cleaned)).length === 0) return cleaned;
  return { type: "object", $comment: "The schema has invisible characters: takes any object." };
}

function cleanWords(value: Json, inWords: boolean): Json {
  if (typeof value === "string") return inWords ? plain(value) : value;
  if (Array.isArray(value)) return value.map((each: Json) => cleanWords(each, inWords));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, member]) => [name, cleanWords(member, inWords || WORDS.has(name))]),
  );
}

const charactersOf = (text: string): string[] => (text.match(INVISIBLE) ?? []).filter((each) => each !== AS_EMOJI);

/** The text without invisible characters. */
function plain(text: string): string {
  return text.replaceAll(INVISIBLE, (each) => (each === AS_EMOJI ? each : ""));
}
