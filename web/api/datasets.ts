import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";

export const datasetsOptions = queryOptions({
  queryKey: ["datasets", "list", { page_size: 200 }],
  queryFn: () => unwrap(api.GET("/v2/evals/datasets", { params: { query: { page_size: 200 } } })),
});

/** Adds a row, to a dataset that is there or a new one of that name. */
export async function addDatasetRow({
  dataset_id,
  name,
  project_id,
  row,
  intent,
}: {
  readonly dataset_id: string | null;
  readonly name: string;
  readonly project_id: string;
  readonly row: Schemas["DatasetRowInput"];
  readonly intent: string;
}): Promise<string> {
  const header = { "Idempotency-Key": intent };
  const body = { name, project_id, description: "", input_schema: null, metadata: {}, tags: [] };
  const id = dataset_id ?? (await unwrap(api.POST("/v2/evals/datasets", { params: { header }, body }))).dataset_id;
  const rowHeader = { "Idempotency-Key": `${intent}-row` };
  const params = { path: { dataset_id: id }, header: rowHeader };
  await unwrap(api.POST("/v2/evals/datasets/{dataset_id}/rows", { params, body: row }));
  return id;
}
