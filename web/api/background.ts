import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";

const EVERY_MS = 5000;
const PAGE = { page_size: 50 };

/** A page of knowledge bases, each with the number of its documents that are indexed. */
export const knowledgeBasesOptions = queryOptions({
  queryKey: ["knowledge-bases", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/knowledge-bases", { params: { query: PAGE } })),
  refetchInterval: EVERY_MS,
});
export const experimentsOptions = queryOptions({
  queryKey: ["experiments", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/evals/experiments", { params: { query: PAGE } })),
  refetchInterval: EVERY_MS,
});
/** A page of bulk run jobs, each with its progress. */
export const jobsOptions = queryOptions({
  queryKey: ["run-jobs", "list", PAGE],
  queryFn: () => unwrap(api.GET("/v2/run-jobs", { params: { query: PAGE } })),
  refetchInterval: EVERY_MS,
});
