import { styleText } from "node:util";
import { Option } from "commander";
import type { Command } from "commander";
import { QUERY_STRATEGIES } from "../domain/knowledge/query.ts";
import type { KnowledgeAnswer, KnowledgeResult, QueryStrategy } from "../domain/knowledge/query.ts";
import { openApi, show, table, withApiOptions } from "./options.ts";
import type { ApiOptions } from "./options.ts";
import { plainText } from "./plain-text.ts";
import { invocation } from "./shell.ts";
import { addDocumentCommands } from "./knowledge-documents.ts";
import { readId, readNumber } from "./values.ts";

interface Options extends ApiOptions {
  readonly json?: boolean;
}

interface CreateOptions extends Options {
  readonly description?: string;
  readonly model?: string;
  readonly keywordOnly?: boolean;
  readonly chunkSize?: number;
  readonly chunkOverlap?: number;
}

interface QueryOptions extends Options {
  readonly strategy: QueryStrategy;
  readonly top: number;
  readonly neighbors: number;
}

interface KnowledgeBase {
  readonly knowledge_base_id: string;
  readonly name: string;
  readonly indexing_params: { readonly embedding_params: { readonly embedding_model: string | null } };
  readonly total_files: number;
  readonly total_indexed_files: number;
  readonly total_error_files: number;
  readonly reindex_required: boolean;
}

const PATH = "/v2/knowledge-bases";

/** `kb create|list|add|sync|query`. */
export function addKnowledgeCommands(program: Command): void {
  const kb = program.command("kb").description("knowledge bases: create, fill, sync and search them");

  withApiOptions(kb.command("create").description("create a knowledge base").argument("<name>"))
    .option("--description <text>", "for people")
    .option("--model <name>", "embedding model (default: the local one, where it is installed)")
    .addOption(new Option("--keyword-only", "without embeddings").conflicts("model"))
    .option("--chunk-size <n>", "characters of a chunk", readNumber(50, 20_000))
    .option("--chunk-overlap <n>", "characters that chunks share", readNumber(0, 20_000))
    .action(async (name: string, options: CreateOptions) => {
      const { api } = openApi(options);
      const { description, model, keywordOnly, chunkSize, chunkOverlap } = options;
      const embedding_model = keywordOnly === true ? null : model;
      const base = await api.post<KnowledgeBase>(PATH, {
        name,
        description,
        indexing_params: {
          ...(embedding_model === undefined ? {} : { embedding_params: { embedding_model } }),
          chunker_params: { chunk_size: chunkSize, chunk_overlap: chunkOverlap },
        },
      });
      show(options.json, base, () => [
        `${base.knowledge_base_id}  ${plainText(base.name)} (${modelOf(base)})`,
        `Search it: ${invocation()} kb query ${base.knowledge_base_id} "..."`,
      ]);
    });

  withApiOptions(kb.command("list").description("list knowledge bases, the newest first")).action(
    async (options: Options) => {
      const { api } = openApi(options);
      const page = await api.get<{ data: KnowledgeBase[] }>(PATH, { page_size: 200 });
      show(options.json, page.data, () =>
        table([
          ["KNOWLEDGE BASE", "NAME", "EMBEDDINGS", "DOCUMENTS", "INDEXED", "ERRORS", "REINDEX"],
          ...page.data.map((each) => [
            each.knowledge_base_id,
            plainText(each.name),
            modelOf(each),
            String(each.total_files),
            String(each.total_indexed_files),
            String(each.total_error_files),
            each.reindex_required ? "required" : "",
          ]),
        ]),
      );
    },
  );

  addDocumentCommands(kb);

  withApiOptions(
    kb
      .command("query")
      .description("search a knowledge base")
      .argument("<knowledge_base_id>", "which", readId("a knowledge base", "kb list"))
      .argument("<query>", 'words, "phrases", begin* and -not'),
  )
    .addOption(new Option("--strategy <strategy>", "how").choices(QUERY_STRATEGIES).default("hybrid"))
    .option("--top <n>", "how many results, up to 100", readNumber(1, 100), 5)
    .option("--neighbors <n>", "chunks around each result, up to 10 (in JSON)", readNumber(0, 10), 0)
    .action(async (knowledgeBaseId: string, query: string, options: QueryOptions) => {
      const { api } = openApi(options);
      const { strategy: query_strategy, top: top_k, neighbors } = options;
      const body = { query, query_strategy, top_k, neighbors };
      const answer = await api.post<KnowledgeAnswer>(`${PATH}/${knowledgeBaseId}/query`, body);
      show(options.json, answer, () => [
        ...answer.results.flatMap((result) => [...linesOf(result), ""]),
        `${answer.results.length} ${answer.results.length === 1 ? "result" : "results"} by ${answer.strategy_used} search in ${answer.latency_ms} ms`,
      ]);
    });
}

const modelOf = ({ indexing_params }: KnowledgeBase): string =>
  plainText(indexing_params.embedding_params.embedding_model ?? "keywords only");

function linesOf(result: KnowledgeResult): string[] {
  const page = result.page_start === null ? "" : `, page ${result.page_start}`;
  const place = plainText(result.source_url ?? result.resource_path);
  const head = `${result.rank}. ${place}${page}  (score ${result.score.toPrecision(3)})`;
  return [styleText("bold", head), highlighted(result)];
}

/** The text with the query's words emphasised, where the terminal can. */
function highlighted({ text, highlights }: KnowledgeResult): string {
  if (text === null) return "";
  let shown = "";
  let at = 0;
  for (const { start, end } of highlights ?? []) {
    shown += plainText(text.slice(at, start)) + styleText(["bold", "yellow"], plainText(text.slice(start, end)));
    at = end;
  }
  return shown + plainText(text.slice(at));
}
