import { Option, type Command } from "@commander-js/extra-typings";
import { QUERY_STRATEGIES, type KnowledgeAnswer, type KnowledgeResult } from "../../domain/knowledge/query.ts";
import type { presentKnowledgeBase } from "../../api/knowledge/knowledge-base-presenter.ts";
import { addDelete, addList } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { plainText, styled } from "../terminal.ts";
import { invocation } from "../shell.ts";
import { addDocumentCommands } from "./knowledge-documents.ts";
import { readId, readNumber } from "../values.ts";

type KnowledgeBase = ReturnType<typeof presentKnowledgeBase>;

const PATH = "/v2/knowledge-bases";

/** `kb create|list|delete|add|documents|remove|sync|query`. */
export function addKnowledgeCommands(program: Command): void {
  const kb = program.command("kb").description("create, sync and search knowledge bases");

  apiCommand(kb, "create", "create a knowledge base")
    .argument("<name>")
    .option("--description <text>", "description for people")
    .option("--model <name>", "embedding model (default: the local model, if it is installed)")
    .addOption(new Option("--keyword-only", "do not compute embeddings; keyword search only").conflicts("model"))
    .option("--chunk-size <n>", "characters per chunk", readNumber(50, 20_000))
    .option("--chunk-overlap <n>", "characters that neighbouring chunks share", readNumber(0, 20_000))
    .action(async (name, options) => {
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

  addList<KnowledgeBase>(kb, "knowledge bases", PATH, {
    "KNOWLEDGE BASE": ({ knowledge_base_id }) => knowledge_base_id,
    NAME: ({ name }) => plainText(name),
    EMBEDDINGS: modelOf,
    DOCUMENTS: ({ total_files }) => String(total_files),
    INDEXED: ({ total_indexed_files }) => String(total_indexed_files),
    ERRORS: ({ total_error_files }) => String(total_error_files),
    REINDEX: ({ reindex_required }) => (reindex_required ? "required" : ""),
  });
  addDelete(kb, "a knowledge base", PATH);

  addDocumentCommands(kb);

  apiCommand(kb, "query", "search a knowledge base")
    .argument("<knowledge_base_id>", "which", readId("a knowledge base", "kb list"))
    .argument("<query>", 'words, "phrases", prefix* and -excluded')
    .addOption(new Option("--strategy <strategy>", "how").choices(QUERY_STRATEGIES).default("hybrid"))
    .option("--top <n>", "number of results, up to 100", readNumber(1, 100), 5)
    .option("--neighbors <n>", "chunks around each result, up to 10 (in JSON)", readNumber(0, 10), 0)
    .action(async (knowledgeBaseId, query, options) => {
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
  return [styled("bold", head), highlighted(result)];
}

/** The text with the query's words emphasised, if the terminal supports it. */
function highlighted({ text, highlights }: KnowledgeResult): string {
  if (text === null) return "";
  let shown = "";
  let at = 0;
  for (const { start, end } of highlights ?? []) {
    shown += plainText(text.slice(at, start)) + styled(["bold", "yellow"], plainText(text.slice(start, end)));
    at = end;
  }
  return shown + plainText(text.slice(at));
}
