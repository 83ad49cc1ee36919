import type { JSX } from "react";
import { documentHref } from "../../api/knowledge.ts";

interface Citation {
  readonly index?: number;
  readonly knowledge_base_id?: string;
  readonly resource_id?: string;
  readonly resource_path?: string;
  readonly source_url?: string | null;
  readonly page_start?: number | null;
  readonly page_end?: number | null;
  readonly score?: number;
}

/** Citations listed; a search returns fewer. */
const MOST = 100;

/** The citations of a value, each with a link to its document. */
export function Citations({ citations }: { readonly citations: readonly unknown[] }): JSX.Element | null {
  const cited = citations.filter((each): each is Citation => typeof each === "object" && each !== null).slice(0, MOST);
  if (cited.length === 0) return null;
  return (
    <>
      <h3>Citations</h3>
      <ol className="inside" aria-label="Citations">
        {cited.map((citation, position) => (
          <li key={position} className="attempt">
            <strong>[{citation.index ?? position + 1}]</strong>
            <a href={documentOf(citation)} target="_blank" rel="noopener noreferrer" className="wrap">
              {citation.resource_path ?? "document"}
            </a>
            <span className="small muted nowrap">{pagesOf(citation)}</span>
            {isWeb(citation.source_url) && (
              <a className="small" href={citation.source_url} target="_blank" rel="noopener noreferrer">
                source
              </a>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

/** The document's URL; browsers that support the type display it, and PDF viewers open the cited page. */
function documentOf({ knowledge_base_id = "", resource_id = "", page_start }: Citation): string {
  const page = page_start == null ? "" : `#page=${page_start}`;
  return documentHref(knowledge_base_id, resource_id) + page;
}

function pagesOf({ page_start: first, page_end: last }: Citation): string {
  if (first == null) return "";
  return last == null || last === first ? `page ${first}` : `pages ${first}-${last}`;
}

/** The source of a document is untrusted text, so only web URLs become links. */
const isWeb = (url: string | null | undefined): url is string => url != null && /^https?:\/\//i.test(url);
