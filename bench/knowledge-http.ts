import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { request, type Process, type Stage } from "./stage.ts";

interface Totals {
  readonly total_files: number;
  readonly total_indexed_files: number;
  readonly total_error_files: number;
  readonly total_size: number;
}

/** Creates a knowledge base; returns its URL. */
export async function createBase(stage: Stage, api: Process, indexing_params: object): Promise<string> {
  const created = await request(`${api.url}/v2/knowledge-bases`, stage.key, { name: "bench", indexing_params });
  return `${api.url}/v2/knowledge-bases/${(created as { knowledge_base_id: string }).knowledge_base_id}`;
}

/** Waits until nothing is in progress in a knowledge base. */
export async function settledBase(stage: Stage, base: string): Promise<Totals> {
  for (;;) {
    const totals = (await request(base, stage.key)) as Totals;
    if (totals.total_files === totals.total_indexed_files + totals.total_error_files) return totals;
    await delay(100);
  }
}

/** Pages and MiB per second from upload to index, without embeddings, by type: each file of a folder is uploaded `copies` times. */
export async function measureIngest(
  stage: Stage,
  api: Process,
  folder: string,
  copies: number,
  say: (line: string) => void,
): Promise<void> {
  const files = readdirSync(folder).toSorted();
  say("| type | files | MiB | pages | MiB/s | pages/s | files/s |\n| --- | --- | --- | --- | --- | --- | --- |");
  for (const type of new Set(files.map((file) => extname(file)))) {
    const base = await createBase(stage, api, {
      embedding_params: { embedding_model: null },
      ...(/png|jpe?g|webp/.test(type) ? { ocr: true } : {}),
    });
    const uploads = files.filter((file) => extname(file) === type).flatMap((file) => Array<string>(copies).fill(file));
    const began = performance.now();
    const bytes = await Promise.all(
      uploads.map(async (file, at) => {
        const content = readFileSync(join(folder, file));
        const form = new FormData();
        form.set("external_id", String(at));
        form.set("file", new Blob([content]), `${at}-${file}`);
        const headers = { authorization: `Bearer ${stage.key}` };
        const response = await fetch(`${base}/resources`, { method: "POST", headers, body: form });
        if (response.status !== 202) throw new Error(`${file}: ${response.status} ${await response.text()}`);
        return content.byteLength;
      }),
    );
    const { total_error_files } = await settledBase(stage, base);
    const seconds = (performance.now() - began) / 1000;
    if (total_error_files > 0) throw new Error(`${total_error_files} files of type ${type} were not read`);
    const listed = (await request(`${base}/resources?page_size=200`, stage.key)) as {
      data: { page_count: number | null }[];
    };
    const pages = listed.data.reduce((sum, { page_count }) => sum + (page_count ?? 0), 0);
    const mib = bytes.reduce((sum, each) => sum + each, 0) / 2 ** 20;
    const perSecond = (count: number): string => (count / seconds).toFixed(1);
    say(
      `| ${[type.slice(1), uploads.length, mib.toFixed(1), pages || "", perSecond(mib), pages ? perSecond(pages) : "", perSecond(uploads.length)].join(" | ")} |`,
    );
  }
}
