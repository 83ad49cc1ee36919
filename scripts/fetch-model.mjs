// Fetches the local embedding model into the cache, unless it is there: `npm run model:fetch`.
const { fetchModel } = await import(new URL("../dist/src/dev/embedding-model.js", import.meta.url).href);
const configured = process.env.MILLRACE_EMBEDDING_MODEL_DIR || undefined;
const found = await fetchModel({ configured, say: (line) => console.error(line) });
console.error("dir" in found ? `The local embedding model is in ${found.dir}.` : found.no);
if ("no" in found) process.exitCode = 1;
