import type { JSX } from "react";
import { Formatted, Outside } from "../parts/markdown/formatted.tsx";
import type { ChatSource } from "../chat/turn.tsx";
import { Value } from "../parts/value.tsx";
import type { Citation } from "./shapes.ts";

/** Members of an object that are shown as names and values; more of them, or nested ones, are shown as data. */
const MOST_FACTS = 20;
const LONG = 200;

/** The value of an output, or data of a question. */
export function Output({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  if (typeof value === "string") return <Formatted text={value} />;
  if (typeof value !== "object" || value === null) return <p>{wordOf(value)}</p>;
  const facts = Array.isArray(value) ? [] : Object.entries(value);
  const isFlat = facts.every(([, fact]) => (typeof fact !== "object" || fact === null) && wordOf(fact).length < LONG);
  if (facts.length === 0 || facts.length > MOST_FACTS || !isFlat) return <Value value={value} label={label} />;
  return (
    <dl className="facts-list">
      {facts.map(([name, fact]) => (
        <div key={name}>
          <dt className="muted wrap">{name}</dt>
          <dd className="wrap">{wordOf(fact)}</dd>
        </div>
      ))}
    </dl>
  );
}

function wordOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return typeof value === "string" ? value : value == null ? "–" : JSON.stringify(value);
}

export function sourcesOf(citations: readonly Citation[]): ChatSource[] {
  return citations.map(({ index, name, page_start: first, page_end: last }) => {
    const place = first === null ? "" : last === null || last === first ? `page ${first}` : `pages ${first}-${last}`;
    return { number: index, title: name, place };
  });
}

/** Draws a source as a link where its document is on the web. */
export function drawSourceOf(citations: readonly Citation[]): (source: ChatSource) => JSX.Element {
  return ({ number, title }) => {
    const url = citations.find(({ index }) => index === number)?.url ?? null;
    return url === null ? <span className="wrap">{title}</span> : <Outside href={url}>{title}</Outside>;
  };
}
