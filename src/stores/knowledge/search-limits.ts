import type { ResolvedFilter } from "../../domain/knowledge/filter.ts";
import { plannedAnew, type Db } from "../db.ts";
import { filterSql } from "./filter-sql.ts";
import type { SearchedIndex } from "./search.ts";

// Every function here runs on Database.search, whose role sees the rows of all organisations. So each statement names
// the organisation, and reaches postings and vectors only through one of its indexes.

/** Limits for the chunks that a search may find. */
export interface SearchLimits {
  readonly filter: ResolvedFilter | null;
  /** Each must match, as a tsquery. */
  readonly required: readonly string[];
  /** None may match. */
  readonly excluded: readonly string[];
}

/** Selects rows whose chunk number is searchable. $1 is the organisation. */
export function liveChunkSql(chunkNo: string, limits: SearchLimits, index: SearchedIndex, values: unknown[]): string {
  const conditions = chunkConditions(limits, values);
  const resource =
    limits.filter === null
      ? ""
      : `join knowledge_resources r on r.resource_id = c.resource_id and r.org_id = $1::uuid and ${filterSql(limits.filter, values)}`;
  return `select 1 from knowledge_chunks c
    join knowledge_index_resources x on x.index_no = c.index_no and x.resource_id = c.resource_id and x.revision = c.revision and x.org_id = $1::uuid
    ${resource} where c.index_no = ${Number(index.index_no)} and c.chunk_no = ${chunkNo}${conditions}`;
}

function chunkConditions({ required, excluded }: SearchLimits, values: unknown[]): string {
  const matches = (query: string): string => `c.lexemes @@ $${values.push(query)}::tsquery`;
  return [...required.map(matches), ...excluded.map((query) => `not ${matches(query)}`)]
    .map((condition) => ` and (${condition})`)
    .join("");
}

/** The numbers of all searchable chunks of an index, in no order. */
export async function listLiveChunks(db: Db, orgId: string, index: SearchedIndex): Promise<number[]> {
  return await restrictChunks(db, orgId, index, { filter: null, required: [], excluded: [] });
}

/** The numbers of the chunks within the limits, in no order; with `among`, only of these. */
export async function restrictChunks(
  db: Db,
  orgId: string,
  index: SearchedIndex,
  limits: SearchLimits,
  among: readonly number[] | null = null,
): Promise<number[]> {
  const values: unknown[] = [orgId, index.index_no];
  const resource =
    limits.filter === null
      ? ""
      : `join knowledge_resources r on r.resource_id = x.resource_id and r.org_id = $1::uuid and ${filterSql(limits.filter, values)}`;
  const conditions = chunkConditions(limits, values);
  const numbered = among === null ? "" : ` and c.chunk_no = any($${values.push(among)}::int[])`;
  // As text: an array of numbers would be parsed element by element.
  const numbers = await db.value<string>(
    plannedAnew(`select string_agg(c.chunk_no::text, ',') as numbers from knowledge_index_resources x
      join knowledge_chunks c on c.index_no = x.index_no and c.resource_id = x.resource_id and c.revision = x.revision
      ${resource} where x.org_id = $1::uuid and x.index_no = $2::int and c.org_id = $1::uuid${conditions}${numbered}`),
    values,
  );
  return numbers === null ? [] : numbers.split(",").map(Number);
}
