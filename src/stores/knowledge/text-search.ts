// Builds values of Postgres' full-text types from the words of our own rules. Postgres' parser is not used, because what it takes for a
// letter depends on the database's locale.

/** Limits of the tsvector type. */
const MAX_POSITION = 16_383;
const MAX_POSITIONS = 255;

const quoted = (lexeme: string): string => `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

/** A tsvector of lexemes, whose positions count from 0. */
export function wordVector(words: ReadonlyArray<{ readonly lexeme: string; readonly position: number }>): string {
  const positions = new Map<string, Set<number>>();
  for (const { lexeme, position } of words) {
    const known = positions.get(lexeme);
    const place = Math.min(position + 1, MAX_POSITION);
    if (known === undefined) positions.set(lexeme, new Set([place]));
    else if (known.size < MAX_POSITIONS) known.add(place);
  }
  return [...positions].map(([lexeme, places]) => `${quoted(lexeme)}:${[...places].join(",")}`).join(" ");
}

/**
 * A tsquery that matches any of several phrases, each given as the forms of its words. A word without forms is a stop word and matches any
 * word. Null if there is nothing to search for.
 */
export function phraseQuery(phrases: ReadonlyArray<ReadonlyArray<readonly string[]>>): string | null {
  const queries = phrases.flatMap((phrase) => {
    let query = "";
    let distance = 1;
    for (const forms of phrase) {
      if (forms.length === 0) {
        distance += 1;
        continue;
      }
      const word = `(${forms.map(quoted).join("|")})`;
      query = query === "" ? word : `${query} <${distance}> ${word}`;
      distance = 1;
    }
    return query === "" ? [] : [`(${query})`];
  });
  return queries.length === 0 ? null : [...new Set(queries)].join(" | ");
}

/** A tsquery for every word that begins with this text. */
export const prefixQuery = (prefix: string): string => `${quoted(prefix)}:*`;
