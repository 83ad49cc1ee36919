import type { Db } from "../db.ts";

/** A node in a version of a flow. `path` is its path in a run: `map-0[2]/http-0`. */
export interface NodePlace {
  readonly project_id: string;
  readonly flow_version: number;
  readonly path: string;
}

/** The name that a flow gives to a node; null if it gives none. */
export type NodeNameOf = (place: NodePlace) => string | null;

/** All iterations of a map have the same nodes. */
const keyOf = ({ project_id, flow_version, path }: NodePlace): string =>
  `${project_id} ${flow_version} ${path.replaceAll(/\[\d+\]/g, "")}`;

/** Reads the names that flows give these nodes; only the names are read, because a flow may be long. */
export async function readNodeNames(db: Db, places: readonly NodePlace[]): Promise<NodeNameOf> {
  if (places.length === 0) return () => null;
  const distinct = [...new Map(places.map((place) => [keyOf(place), place])).values()];
  const steps = distinct.map(({ path }) => path.replaceAll(/\[\d+\]/g, "").split("/"));
  const rows = await db.query<{ name: string | null }>(
    `select jsonb_path_query_first(v.definition, p.step::jsonpath, p.ids::jsonb) #>> '{}' as name
      from unnest($1::uuid[], $2::int[], $3::text[], $4::text[]) with ordinality as p (project_id, version, step, ids, at)
      left join flow_versions v on v.org_id = current_org() and v.project_id = p.project_id and v.version = p.version
      order by p.at`,
    [
      distinct.map(({ project_id }) => project_id),
      distinct.map(({ flow_version }) => flow_version),
      steps.map((ids) => `$${ids.map((_, at) => `.nodes[*] ? (@.id == $id${at})`).join(".config.flow")}.name`),
      steps.map((ids) => JSON.stringify(Object.fromEntries(ids.map((id, at) => [`id${at}`, id])))),
    ],
  );
  const names = new Map(distinct.map((place, at) => [keyOf(place), rows[at]?.name || null]));
  // The path of a map's iteration does not name a node; only the map itself has a name.
  return (place) => (place.path.endsWith("]") ? null : (names.get(keyOf(place)) ?? null));
}
