import { useState, type JSX } from "react";

/** Position of a search hit. */
export interface Hit {
  readonly page: number;
  readonly at: number;
  readonly length: number;
}

/** Hits that are counted; a single letter may have millions. */
const MAX_HITS = 1000;

/** Pages searched before yielding to the browser, so that it can draw and handle input. */
const PAGES_AT_ONCE = 8;

/** Finds a text in pages, ignoring case, including hits that span two pages. */
export async function findIn(pages: readonly string[], query: string): Promise<Hit[]> {
  const hits: Hit[] = [];
  if (query === "") return hits;
  const wanted = query.toLowerCase();
  for (const [page, text] of pages.entries()) {
    if (page % PAGES_AT_ONCE === PAGES_AT_ONCE - 1) await pause();
    const searched = lowered(`${text}${pages[page + 1]?.slice(0, query.length - 1) ?? ""}`);
    for (let at = searched.indexOf(wanted); at !== -1; at = searched.indexOf(wanted, at + wanted.length)) {
      // A hit that begins on the next page is found there.
      if (at >= text.length) break;
      hits.push({ page, at, length: query.length });
      if (hits.length === MAX_HITS) return hits;
    }
  }
  return hits;
}

/** A few letters become longer in lower case, which would shift later positions; such a page is searched as it is. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

interface Search {
  readonly query: string;
  readonly pages: number;
  readonly hits: readonly Hit[];
  readonly current: number;
}

/** Finds a text in the pages; Enter goes to the next hit. */
export function FindForm({
  label,
  pages,
  find,
  onHit,
}: {
  readonly label: string;
  readonly pages: number;
  readonly find: (query: string) => Promise<Hit[]>;
  readonly onHit: (hit: Hit | null) => void;
}): JSX.Element {
  const [query, setQuery] = useState("");
  const [search, setSearch] = useState<Search | null>(null);
  const go = async (): Promise<void> => {
    const known = search?.query === query && search.pages === pages ? search : null;
    const hits = known?.hits ?? (await find(query));
    const current = known && hits.length > 0 ? (known.current + 1) % hits.length : 0;
    setSearch(query === "" ? null : { query, pages, hits, current });
    onHit(hits[current] ?? null);
  };
  return (
    <form
      className="row"
      role="search"
      aria-label={`Search in ${label}`}
      onSubmit={(event) => {
        event.preventDefault();
        void go();
      }}
    >
      <input
        className="input long-value-find"
        type="search"
        aria-label={`Find in ${label}`}
        placeholder="Find in loaded pages"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      <button type="submit" className="button button-small">
        Find
      </button>
      <span className="small" role="status">
        {search && describe(search)}
      </span>
    </form>
  );
}

function describe({ hits, current }: Search): string {
  if (hits.length === 0) return "Not found in loaded pages";
  const count = hits.length === MAX_HITS ? `the first ${MAX_HITS.toLocaleString()}` : hits.length.toLocaleString();
  return `${(current + 1).toLocaleString()} of ${count}`;
}
