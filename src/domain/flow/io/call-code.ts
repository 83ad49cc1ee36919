import { curlFile, plainJson, pythonLiteral, quoted, scriptLiteral, textLiteral } from "./literals.ts";

export const LANGUAGES = ["curl", "JavaScript", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** How a caller receives the outputs: in the response, as they grow, or later. */
export const WAYS = ["sync", "stream", "async"] as const;
export type Way = (typeof WAYS)[number];

export interface Upload {
  readonly node_id: string;
  readonly file: string;
}

export interface FlowCall {
  /** Base URL of the installation, without a trailing slash. */
  readonly base: string;
  readonly org_id: string;
  readonly project_id: string;
  /** Null calls the published version, or the one of the environment. */
  readonly version: number | null;
  readonly environment?: string | null;
  readonly way: Way;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Files to upload first; the inputs then have a `user_id`. */
  readonly uploads: readonly Upload[];
}

/** The requests of a call, for sending it and for showing it. */
export function callUrl({ base, org_id, project_id, version, environment, way }: FlowCall): string {
  const operation = way === "stream" ? "stream" : "run";
  const asked = new URLSearchParams({
    ...(version !== null && { version: String(version) }),
    ...(environment != null && { environment }),
  }).toString();
  const query = asked === "" ? "" : `?${asked}`;
  return `${base}/inference/v0/${operation}/${encodeURIComponent(org_id)}/${encodeURIComponent(project_id)}${query}`;
}

export function uploadUrl({ base, org_id, project_id, environment, inputs }: FlowCall, { node_id }: Upload): string {
  const user = inputs["user_id"];
  const user_id = typeof user === "string" ? user : "";
  const query = { org: org_id, user_id, flow_id: project_id, node_id, ...(environment != null && { environment }) };
  return `${base}/upload_to_storage_user?${new URLSearchParams(query).toString()}`;
}

/** Code that makes a call. It needs only the language, reads the key from MILLRACE_API_KEY, and prints the outputs. */
export function flowCode(language: Language, call: FlowCall): string {
  return { curl: curlCode, JavaScript: scriptCode, Python: pythonCode }[language](call);
}

const SHELL_KEY = '--header "Authorization: Bearer $MILLRACE_API_KEY"';
const continued = (lines: readonly string[]): string => lines.join(" \\\n  ");

function curlCode(call: FlowCall): string {
  const { way, inputs, base } = call;
  const uploads = call.uploads.map((upload) =>
    continued([
      `curl --fail-with-body --request POST ${quoted(uploadUrl(call, upload))}`,
      SHELL_KEY,
      `--form ${quoted(`file=${curlFile(upload.file)}`)}`,
    ]),
  );
  const body = ["--header 'Content-Type: application/json'", `--data-raw ${quoted(plainJson(inputs, 2))}`];
  const url = quoted(callUrl(call));
  if (way !== "async") {
    // Without buffers, each line is shown when it arrives.
    const buffers = way === "stream" ? " --no-buffer" : "";
    const call = continued([`curl --fail-with-body${buffers} --request POST ${url}`, SHELL_KEY, ...body]);
    return [...uploads, call].join("\n\n");
  }
  const start = continued([
    `path=$(curl --silent --show-error --fail --request POST ${url}`,
    SHELL_KEY,
    "--header 'Prefer: respond-async'",
    ...body,
    "--output /dev/null --dump-header - | tr -d '\\r' | sed -n 's/^[Ll]ocation: //p')",
  ]);
  const read = continued([`curl --fail-with-body ${quoted(base)}"$path&wait_seconds=60"`, SHELL_KEY]);
  const remark = "# Waits up to 60 s. Repeat it while the state is PENDING, RUNNING or RESUMED.";
  return [...uploads, start, `${remark}\n${read}`].join("\n\n");
}

/** A file name in the header of a multipart body, escaped as browsers do. */
const inHeader = (name: string): string => name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

function pythonCode(call: FlowCall): string {
  const { way, inputs, base, uploads } = call;
  const modules = ["json", "os", way === "async" && "urllib.parse", "urllib.request", uploads.length > 0 && "uuid"];
  const uploading = uploads.map((upload) => {
    const header = `Content-Disposition: form-data; name="file"; filename="${inHeader(upload.file)}"`;
    return `boundary = uuid.uuid4().hex
with open(${textLiteral(upload.file)}, "rb") as file:
    part = b"\\r\\n".join([
        f"--{boundary}".encode(),
        ${textLiteral(header)}.encode(),
        b"Content-Type: application/octet-stream",
        b"",
        file.read(),
        f"--{boundary}--".encode(),
        b"",
    ])
request = urllib.request.Request(
    ${textLiteral(uploadUrl(call, upload))},
    data=part,
    headers={
        "Authorization": f"Bearer {key}",
        "Content-Type": f"multipart/form-data; boundary={boundary}",
    },
)
with urllib.request.urlopen(request) as response:
    print(json.load(response)["filename"])

`;
  });
  const reading: Readonly<Record<Way, string>> = {
    stream: `    for line in response:
        if line.strip():
            frame = json.loads(line)
            print(frame["state"], frame["outputs"], flush=True)
`,
    sync: `    run = json.load(response)
print(run["state"], run["outputs"])
`,
    async: `    address = urllib.parse.urljoin(${textLiteral(base)}, response.headers["Location"])
    run = json.load(response)
while run["state"] in ("PENDING", "RUNNING", "RESUMED"):
    request = urllib.request.Request(f"{address}&wait_seconds=60", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request) as response:
        run = json.load(response)
print(run["state"], run["outputs"])
`,
  };
  return `${modules.flatMap((name) => (name === false ? [] : [`import ${name}\n`])).join("")}
key = os.environ["MILLRACE_API_KEY"]
url = ${textLiteral(callUrl(call))}

${uploading.join("")}inputs = ${pythonLiteral(inputs)}
request = urllib.request.Request(
    url,
    data=json.dumps(inputs).encode(),
    headers={
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
${way === "async" ? '        "Prefer": "respond-async",\n' : ""}    },
)
with urllib.request.urlopen(request) as response:
${reading[way]}`;
}

function scriptCode(call: FlowCall): string {
  const { way, inputs, base, uploads } = call;
  const uploading = uploads.map((upload, at) => {
    const [form, sent] = uploads.length === 1 ? ["form", "uploaded"] : [`form${at + 1}`, `uploaded${at + 1}`];
    const file = textLiteral(upload.file);
    return `const ${form} = new FormData();
${form}.append("file", await openAsBlob(${file}), ${file});
const ${sent} = await fetch(${textLiteral(uploadUrl(call, upload))}, {
  method: "POST",
  headers: { Authorization: authorization },
  body: ${form},
});
if (!${sent}.ok) throw new Error(await ${sent}.text());

`;
  });
  const reading: Readonly<Record<Way, string>> = {
    sync: `const run = await response.json();
console.log(run.state, run.outputs);
`,
    stream: `let rest = "";
for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
  const frames = (rest + part).split("\\n");
  rest = frames.pop();
  for (const frame of frames.filter((line) => line.trim())) {
    const { state, outputs } = JSON.parse(frame);
    console.log(state, outputs);
  }
}
`,
    async: `const address = new URL(response.headers.get("Location"), ${textLiteral(base)});
address.searchParams.set("wait_seconds", "60");
let run = await response.json();
while (["PENDING", "RUNNING", "RESUMED"].includes(run.state)) {
  const read = await fetch(address, { headers: { Authorization: authorization } });
  if (!read.ok) throw new Error(await read.text());
  run = await read.json();
}
console.log(run.state, run.outputs);
`,
  };
  const prefer = way === "async" ? ', Prefer: "respond-async"' : "";
  return `${uploads.length > 0 ? 'import { openAsBlob } from "node:fs";\n\n' : ""}const authorization = \`Bearer \${process.env.MILLRACE_API_KEY}\`;

${uploading.join("")}const response = await fetch(${textLiteral(callUrl(call))}, {
  method: "POST",
  headers: { Authorization: authorization, "Content-Type": "application/json"${prefer} },
  body: JSON.stringify(${scriptLiteral(inputs, "  ")}),
});
if (!response.ok) throw new Error(await response.text());
${reading[way]}`;
}
