import { queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";
import type { Intent } from "./intent.ts";

export const datasetsOptions = queryOptions({
  queryKey: ["datasets", "list"],
  queryFn: () => everyPage((query) => unwrap(api.GET("/v2/evals/datasets", { params: { query } }))),
});

/** Adds a row to an existing dataset, or to a new one with the given name. */
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
  readonly intent: Intent;
}): Promise<string> {
  const body = { name, project_id, description: "", input_schema: null, metadata: {}, tags: [] };
  const header = { "Idempotency-Key": intent(body) };
  const id = dataset_id ?? (await unwrap(api.POST("/v2/evals/datasets", { params: { header }, body }))).dataset_id;
  const rowHeader = { "Idempotency-Key": intent([id, row]) };
  const params = { path: { dataset_id: id }, header: rowHeader };
  await unwrap(api.POST("/v2/evals/datasets/{dataset_id}/rows", { params, body: row }));
  return id;
}
